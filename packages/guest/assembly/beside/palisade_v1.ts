/*
 * The host functions without a handle. The name of the file is that of their module; they are in a folder of their own
 * because `log` and `fail` are names of what the library makes of them, too.
 */

// imports:begin
export declare function result_read(place: usize, placeLength: usize): i32;
export declare function fail(error: usize, errorLength: usize): void;
export declare function log(level: i32, text: usize, textLength: usize): void;
export declare function clock_ms(): f64;
export declare function random(place: usize, placeLength: usize): void;
export declare function config_get(key: usize, keyLength: usize): i32;
// imports:end
