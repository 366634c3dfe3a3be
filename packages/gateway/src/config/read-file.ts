import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { type Place, placeOf, placeOfBadUtf8 } from '../core/strict-json.ts';
import type { ConfigFile } from './config.ts';

const MAX_BYTES = 256 * 1024;

/** The error of this room: the file, the place in it, and what is wrong there. */
export function invalidConfig(name: string, place: Place | undefined, what: string): CodedError {
  const where = place === undefined ? name : `${name}:${place.line}:${place.column}`;
  return new CodedError('config/invalid', `${where}: ${what}`);
}

/** Reads the file as text that both TOML parsers understand alike; null when there is none. */
export function readConfigFile(path: string): ConfigFile | null {
  const name = basename(path);
  const bytes = readBytes(path, name);
  if (bytes === null) return null;
  if (!isUtf8(bytes)) {
    throw invalidConfig(
      name,
      placeOfBadUtf8(bytes),
      'Cannot read the file: it has other bytes, expected UTF-8',
    );
  }
  const text = new TextDecoder().decode(bytes);
  // The decoder took one byte order mark; a second one is skipped by one TOML parser and refused by the other.
  const bad = text.search(/\0|^\ufeff/);
  if (bad >= 0) {
    const what = 'Cannot read the file: it has a NUL or a second byte order mark, expected text';
    throw invalidConfig(name, placeOf(text, bad), what);
  }
  return { name, path, text };
}

function readBytes(path: string, name: string): Uint8Array | null {
  try {
    // Boundary: without O_NONBLOCK, a pipe in the place of the file would hold the start for ever.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      return readRegular(fd, name);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error instanceof CodedError) throw error;
    if (error.code === 'ENOENT') return null;
    throw invalidConfig(
      name,
      undefined,
      `Cannot read ${JSON.stringify(path)}: ${error.code}, expected a readable file`,
    );
  }
}

function readRegular(fd: number, name: string): Uint8Array {
  if (!fstatSync(fd).isFile()) {
    throw invalidConfig(
      name,
      undefined,
      'Cannot read the file: it is something else, expected a regular file',
    );
  }
  // Boundary: at most one byte more than allowed is ever read, however the file grows.
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  for (let count = 1; count > 0 && length < buffer.length; length += count) {
    count = readSync(fd, buffer, length, buffer.length - length, null);
  }
  if (length > MAX_BYTES) {
    const what = `Cannot read the file: it is too large, expected at most ${MAX_BYTES} bytes`;
    throw invalidConfig(name, undefined, what);
  }
  return buffer.subarray(0, length);
}
