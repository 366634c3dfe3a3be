/*
 * The host functions as they are, by the table of the ABI. Their module is the name of this file. The compiler imports
 * those that are called and no others, so what a tool does not use needs no grant.
 */

export declare function capability_count(kind: i32): i32;
export declare function capability_handle(kind: i32, index: i32): i32;
export declare function result_read(place: usize, placeLength: usize): i32;
export declare function fail(error: usize, errorLength: usize): void;
export declare function log(level: i32, text: usize, textLength: usize): void;
export declare function clock_ms(): f64;
export declare function random(place: usize, placeLength: usize): void;
export declare function config_get(key: usize, keyLength: usize): i32;
export declare function http_request(
  handle: i32,
  head: usize,
  headLength: usize,
  body: usize,
  bodyLength: usize,
): i32;
export declare function secret_read(handle: i32): i32;
export declare function storage_get(handle: i32, key: usize, keyLength: usize): i32;
export declare function storage_put(
  handle: i32,
  key: usize,
  keyLength: usize,
  value: usize,
  valueLength: usize,
  version: f64,
): i32;
export declare function storage_delete(handle: i32, key: usize, keyLength: usize, version: f64): i32;
export declare function storage_list(
  handle: i32,
  prefix: usize,
  prefixLength: usize,
  after: usize,
  afterLength: usize,
  limit: i32,
): i32;
export declare function channel_publish(handle: i32, message: usize, messageLength: usize): i32;
export declare function channel_receive(handle: i32, waitMs: i32): i32;
