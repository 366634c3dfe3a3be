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
import { CONFIG_FILE } from './environment.ts';

/*
 * palisade.toml → Config. The file is the operator's, so its intent is trusted, but not its form: an unknown key, a
 * wrong type or a number out of range is an error with its line, never a default. Everything is checked before anything
 * starts; a Config has no gaps. This module writes nothing and remembers nothing.
 */

const MAX_FILE_BYTES = 256 * 1024;
/** Lists of budgets and secrets are three levels deep at most; the rest lets a deeper file get a better message. */
const MAX_INLINE_DEPTH = 16;

type Source = { readonly stateDir: string; readonly configPath?: string | undefined };

/** Returns the whole configuration or throws `config/invalid`. A named file must exist; the default one need not. */
export async function loadConfig({ stateDir, configPath }: Source): Promise<Config> {
  const file = readConfigFile(configPath ?? join(stateDir, CONFIG_FILE));
  if (file === null && configPath !== undefined) {
    throw unreadable(CONFIG_FILE, quote(configPath), 'the file does not exist', 'the configuration');
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
  const { positionsIn } = await import('./toml-tree.ts');
  return positionsIn(text);
}

function parseToml(file: ConfigFile): unknown {
  try {
    return parse(file.text, { integersAsBigInt: true, maxDepth: MAX_INLINE_DEPTH });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    throw unreadable(at(file.name, error), 'the file', `it is not valid TOML (${summary})`, 'valid TOML');
  }
}

function at(name: string, { line, column }: SourcePosition): string {
  return `${name}:${line}:${column}`;
}

function unreadable(where: string, what: string, is: string, expected: string): CodedError {
  return new CodedError('config/invalid', `${where}: Cannot read ${what}: ${is}, expected ${expected}`);
}

/** Reads the file as text that both TOML parsers understand alike; null when it does not exist. */
export function readConfigFile(path: string): ConfigFile | null {
  const name = basename(path);
  const bytes = readBytes(path, name);
  if (bytes === null) return null;
  if (!isUtf8(bytes)) {
    const where = at(name, positionOfBadUtf8(bytes));
    throw unreadable(where, 'the file', 'it has bytes that are not UTF-8', 'UTF-8');
  }
  const text = new TextDecoder().decode(bytes);
  // The decoder took one byte order mark; a second one is skipped by one TOML parser and refused by the other.
  const bad = text.search(/\0|^\ufeff/);
  if (bad >= 0) {
    const where = at(name, positionAt(text, bad));
    throw unreadable(where, 'the file', 'it has a NUL or a second byte order mark', 'text');
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
    throw unreadable(name, quote(path), String(error.code), 'a readable file');
  }
}

function readRegular(fd: number, name: string): Uint8Array {
  if (!fstatSync(fd).isFile())
    throw unreadable(name, 'the file', 'it is not a regular file', 'a regular file');
  // Boundary: at most one byte more than allowed is ever read, however the file grows.
  const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  for (let count = 1; count > 0 && length < buffer.length; length += count) {
    count = readSync(fd, buffer, length, buffer.length - length, null);
  }
  if (length > MAX_FILE_BYTES)
    throw unreadable(name, 'the file', 'it is too large', `at most ${MAX_FILE_BYTES} bytes`);
  return buffer.subarray(0, length);
}
