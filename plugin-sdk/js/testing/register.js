// Has Node.js find what the host gives to plugins: node --import informant-plugin/testing/register

import { register } from "node:module";

register("./resolve.js", import.meta.url);
