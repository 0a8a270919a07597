// The names that a plugin imports: import { Descriptor, Event, Failure, log } from "informant-plugin-assemblyscript";

export * from "./assembly/index";
