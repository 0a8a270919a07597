// Makes Node.js find the modules that the host gives to plugins, and read TypeScript: node --import informant-plugin/testing/register

import { register } from "node:module";

register("./resolve.js", import.meta.url);
process.setSourceMapsEnabled(true);
