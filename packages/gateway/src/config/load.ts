import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import type { SourcePosition } from '../core/result.ts';
import { formatProblem, locate, type Positions } from '../core/shape-problem.ts';
import { positionAt, positionOfBadUtf8 } from '../core/text-position.ts';
import { checkConfig } from './check.ts';
import type { Config, ConfigFile } from './config.ts';

/*
 * palisade.toml → Config. The file is the operator's, so its intent is trusted, but not its form: an unknown key, a
 * wrong type or a number out of range is an error with its line, never a default. Everything is checked before anything
 * starts; a Config has no gaps. This module writes nothing and remembers nothing.
 */

export const CONFIG_FILE = 'palisade.toml';
const MAX_FILE_BYTES = 256 * 1024;
/** Lists of budgets and secrets are three levels deep at most; the rest lets a deeper file get a better message. */
const MAX_INLINE_DEPTH = 16;

type Source = { readonly stateDir: string; readonly configPath?: string | undefined };

/** Returns the whole configuration or throws `config/invalid`. A named file must exist; the default one need not. */
export async function loadConfig({ stateDir, configPath }: Source): Promise<Config> {
  const file = readConfigFile(configPath ?? join(stateDir, CONFIG_FILE));
  if (file === null && configPath !== undefined) {
    const what = `Cannot read ${quote(configPath)}: the file does not exist, expected the configuration`;
    throw invalidConfig(CONFIG_FILE, undefined, what);
  }
  return configOf(file);
}

/** The configuration of a file that was read already; null: the defaults. */
export async function configOf(file: ConfigFile | null): Promise<Config> {
  const checked = checkConfig(file === null ? {} : parseToml(file), file);
  if (checked.ok) return checked.value;
  const { name, text } = file ?? { name: CONFIG_FILE, text: '' };
  const [first] = locate(checked.problem, await findPositions(text), 1);
  throw new CodedError(
    'config/invalid',
    first === undefined ? `${name}: Cannot use the file` : formatProblem(first, name),
  );
}

/**
 * Finds positions in palisade.toml; a text that the second parser rejects has none. That parser is loaded only when a
 * line is needed (an error, `palisade config show`).
 */
export async function findPositions(text: string): Promise<Positions> {
  const { positionIn, readTree } = await import('./toml-tree.ts');
  const tree = readTree(text);
  return (path, at) => (tree.ok ? positionIn(tree.value, path, at) : undefined);
}

function parseToml(file: ConfigFile): unknown {
  try {
    return parse(file.text, { integersAsBigInt: true, maxDepth: MAX_INLINE_DEPTH });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    const what = `Cannot read the file: it is not valid TOML (${summary}), expected valid TOML`;
    throw invalidConfig(file.name, error, what);
  }
}

function invalidConfig(name: string, position: SourcePosition | undefined, what: string): CodedError {
  const where = position === undefined ? name : `${name}:${position.line}:${position.column}`;
  return new CodedError('config/invalid', `${where}: ${what}`);
}

/** Reads the file as text that both TOML parsers understand alike; null when it does not exist. */
export function readConfigFile(path: string): ConfigFile | null {
  const name = basename(path);
  const bytes = readBytes(path, name);
  if (bytes === null) return null;
  if (!isUtf8(bytes)) {
    const what = 'Cannot read the file: it has bytes that are not UTF-8, expected UTF-8';
    throw invalidConfig(name, positionOfBadUtf8(bytes), what);
  }
  const text = new TextDecoder().decode(bytes);
  // The decoder took one byte order mark; a second one is skipped by one TOML parser and refused by the other.
  const bad = text.search(/\0|^\ufeff/);
  if (bad >= 0) {
    const what = 'Cannot read the file: it has a NUL or a second byte order mark, expected text';
    throw invalidConfig(name, positionAt(text, bad), what);
  }
  return { name, path, text };
}

function readBytes(path: string, name: string): Uint8Array | null {
  try {
    // Boundary: without O_NONBLOCK, a pipe at the path would block the start forever.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      return readRegular(fd, name);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error instanceof CodedError) throw error;
    if (error.code === 'ENOENT') return null;
    const what = `Cannot read ${quote(path)}: ${error.code}, expected a readable file`;
    throw invalidConfig(name, undefined, what);
  }
}

function readRegular(fd: number, name: string): Uint8Array {
  if (!fstatSync(fd).isFile()) {
    const what = 'Cannot read the file: it is not a regular file, expected a regular file';
    throw invalidConfig(name, undefined, what);
  }
  // Boundary: at most one byte more than allowed is ever read, however the file grows.
  const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  for (let count = 1; count > 0 && length < buffer.length; length += count) {
    count = readSync(fd, buffer, length, buffer.length - length, null);
  }
  if (length > MAX_FILE_BYTES) {
    const what = `Cannot read the file: it is too large, expected at most ${MAX_FILE_BYTES} bytes`;
    throw invalidConfig(name, undefined, what);
  }
  return buffer.subarray(0, length);
}
