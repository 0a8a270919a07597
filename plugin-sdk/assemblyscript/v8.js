// The compiler itself is WebAssembly, and runs for a second or two. Optimizing it takes longer than that. Import this
// file before the compiler to skip the optimization.

import { setFlagsFromString } from "node:v8";

setFlagsFromString("--liftoff-only");
