// The module changes how Node.js finds and reads modules. It exports nothing.

export {};
