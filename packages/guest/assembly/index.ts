/*
 * The library for tools in AssemblyScript. What is not used is not compiled, and what is not called is not imported.
 */

export {
  Answer,
  CONFLICT,
  DENIED,
  FULL,
  INVALID,
  MISSING,
  TOO_LARGE,
  TOO_SLOW,
  UNAVAILABLE,
} from './answer';
export { bytesOf, textOf } from './bytes';
export { config, DEBUG, ERROR, INFO, log, nowMs, randomBytes, WARNING } from './environment';
export { Header, Request, Response } from './http';
export { joined } from './join';
export {
  asList,
  asNumber,
  asText,
  isTrue,
  Json,
  JsonBool,
  JsonList,
  JsonNull,
  JsonNumber,
  JsonObject,
  JsonText,
} from './json';
export { parseJson, readJson } from './json-reader';
export { writeJson } from './json-writer';
export * from './palisade_v1';
export { fail, palisade_alloc, run } from './tool';
