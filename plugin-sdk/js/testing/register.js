// Makes Node.js find the modules that the host gives to plugins: node --import informant-plugin/testing/register

import { register } from "node:module";

register("./resolve.js", import.meta.url);
