// The compiler is WebAssembly itself, and runs for a second or two: optimizing it takes longer than that. Imported before it, this leaves that out.

import { setFlagsFromString } from "node:v8";

setFlagsFromString("--liftoff-only");
