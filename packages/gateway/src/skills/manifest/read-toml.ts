import { isUtf8 } from 'node:buffer';
import { parse, TomlError } from 'smol-toml';
import { readTree, type Spot } from '../../config/toml-tree.ts';
import { inert } from '../../core/hostile-text.ts';
import { accept, orElse, type Result, reject, type SourcePosition } from '../../core/result.ts';
import { isTable } from '../../core/shape.ts';
import type { LocatedProblem } from '../../core/shape-problem.ts';
import { positionAt, positionOfBadUtf8 } from '../../core/text-position.ts';
import { MANIFEST_LIMITS } from '../limits.ts';

/*
 * The text of a manifest → its values and its syntax tree. The file comes from the author of the package. It is read by
 * two independent parsers, and where they differ it has no meaning that could be approved.
 */

type Unreadable = { readonly ok: false; readonly problem: LocatedProblem };

const { fileBytes: MAX_BYTES, levels: MAX_LEVELS, values: MAX_VALUES } = MANIFEST_LIMITS;
const START: SourcePosition = { line: 1, column: 1 };

/** Reads TOML 1.1 in UTF-8, or reports what is wrong and where. It never throws. */
export function readToml(source: string | Uint8Array): ReadToml {
  const decoded = decode(source);
  return decoded.ok ? readBoth(decoded.value) : decoded;
}

type ReadToml = Result<{ readonly raw: unknown; readonly root: Spot }, LocatedProblem>;

function decode(source: string | Uint8Array): Result<string, LocatedProblem> {
  // Boundary: the size is known before a byte is read.
  if (source.length > MAX_BYTES || Buffer.byteLength(source) > MAX_BYTES) {
    return unreadable(START, 'it is too large', `at most ${MAX_BYTES} bytes`);
  }
  if (typeof source !== 'string' && !isUtf8(source)) {
    return unreadable(positionOfBadUtf8(source), 'it has bytes that are not UTF-8', 'UTF-8');
  }
  const text = typeof source === 'string' ? source.replace(/^\ufeff/, '') : new TextDecoder().decode(source);
  // Boundary: parsers differ on a NUL and on a second byte order mark, and a lone surrogate has no UTF-8.
  const bad = text.search(/\0|^\ufeff|\p{Surrogate}/u);
  if (bad < 0) return accept(text);
  const is = 'it has a NUL, a lone surrogate or a second byte order mark';
  return unreadable(positionAt(text, bad), is, 'text');
}

function readBoth(text: string): ReadToml {
  const read = readValues(text);
  if (!read.ok) return read;
  const { levels, values } = measure(read.value, MAX_LEVELS);
  // Boundary: dotted keys and headers nest without brackets; past this line every walk may recurse.
  if (levels > MAX_LEVELS) {
    return unreadable(START, 'its keys are nested too deeply', `at most ${MAX_LEVELS} levels`);
  }
  if (values > MAX_VALUES) return unreadable(START, `it has ${values} values`, `at most ${MAX_VALUES}`);
  // Boundary: a parser of a dependency that fails on a hostile text must not crash the gateway.
  const tree = orElse(() => readTree(text), null);
  if (tree === null) return disputed(START, 'one of two TOML parsers fails on it');
  if (!tree.ok) {
    const { position, is } = tree.problem;
    return disputed(position, `one of two TOML parsers refuses it: ${inert(is)}`);
  }
  // Boundary: a text that two parsers read differently could be shown to one person and run by another.
  const odd = differenceIn(read.value, tree.value);
  if (odd !== null) return disputed(odd, 'two TOML parsers read different values here');
  return accept({ raw: read.value, root: tree.value });
}

function readValues(text: string): Result<unknown, LocatedProblem> {
  try {
    return accept(parse(text, { integersAsBigInt: true, maxDepth: MAX_LEVELS }));
  } catch (error) {
    if (!(error instanceof TomlError)) return disputed(START, 'one of two TOML parsers fails on it');
    const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    const { line, column } = error;
    const hint = hintFor(text.split('\n')[line - 1] ?? '', summary);
    return unreadable({ line, column }, `it is not valid TOML (${inert(summary)})`, 'valid TOML', hint);
  }
}

/** What people write in a line that is not TOML. */
function hintFor(line: string, summary: string): string | null {
  if (/^\s*[\w.-]+\s*=\s*$/.test(line)) return 'a value has to follow on the same line';
  if (summary.includes('redefine')) return hintForTwice(line);
  if (/^\s*[\w.-]+\s*=\s*"[^"]*$/.test(line)) return 'close the text with a quote on the same line';
  if (/^\s*[\w.-]+\s*=\s*(?:yes|no|on|off)\b/i.test(line)) return 'write true or false';
  if (/^\s*[\w.-]+\s*=\s*[\d_]+[a-z]+\s*$/i.test(line)) return 'a number has no unit';
  if (/^\s*[\w.-]+\s*=\s*(?!true\b|false\b|inf\b|nan\b)[^\s"'[{\d+-]/.test(line))
    return 'put text in double quotes';
  if (/^\s*"?[\w.-]+"?\s*:/.test(line)) return 'a key and its value are joined by "="';
  return null;
}

/** Most often it is the table of a tool, whose beginning has one bracket or another name. */
function hintForTwice(line: string): string {
  if (/^\s*\[\s*entrypoints\b|^\s*\[\[/.test(line)) return 'every tool begins with [[entrypoints.tools]]';
  return /^\s*\[/.test(line) ? 'a table may be defined once' : 'a key may be used once in its table';
}

function disputed(position: SourcePosition, is: string): Unreadable {
  return unreadable(position, is, 'TOML that every parser reads alike');
}

function unreadable(
  position: SourcePosition,
  is: string,
  expected: string,
  hint: string | null = null,
): Unreadable {
  const problem = { subject: 'the file', is, expected, path: [], position };
  return reject(hint === null ? problem : { ...problem, hint });
}

type Content = NonNullable<Spot['content']>;

/** How deep and how many: levels are counted no further than one past the most, and without recursion. */
export function measure(
  raw: unknown,
  mostLevels: number,
): { readonly levels: number; readonly values: number } {
  let level: readonly unknown[] = [raw];
  let values = 0;
  for (let levels = 0; levels <= mostLevels; levels++) {
    level = level.flatMap((each) => (Array.isArray(each) ? each : isTable(each) ? Object.values(each) : []));
    if (level.length === 0) return { levels, values };
    values += level.length;
  }
  return { levels: mostLevels + 1, values };
}

/** The position of the first thing on which values and syntax tree differ; null: they agree. */
export function differenceIn(raw: unknown, spot: Spot): SourcePosition | null {
  if (Array.isArray(raw)) return isList(spot) ? differenceAmong([...raw.entries()], spot) : positionOf(spot);
  if (isTable(raw)) return isTableSpot(spot) ? differenceAmong(Object.entries(raw), spot) : positionOf(spot);
  return spot.content !== null && isSameScalar(raw, spot.content) ? null : positionOf(spot);
}

type Entry = readonly [part: string | number, raw: unknown];

function differenceAmong(entries: readonly Entry[], spot: Spot): SourcePosition | null {
  if (entries.length !== spot.children.size) return positionOf(spot);
  for (const [part, raw] of entries) {
    const child = spot.children.get(part);
    const difference = child === undefined ? positionOf(spot) : differenceIn(raw, child);
    if (difference !== null) return difference;
  }
  return null;
}

/** A list that headers make has an element as soon as it is there. */
function isList({ content, children }: Spot): boolean {
  return content === null ? children.has(0) : content.type === 'TOMLArray';
}

function isTableSpot({ content, children }: Spot): boolean {
  return content === null ? !children.has(0) : content.type === 'TOMLInlineTable';
}

function isSameScalar(raw: unknown, content: Content): boolean {
  if (content.type !== 'TOMLValue') return false;
  if (typeof raw === 'bigint') return content.kind === 'integer' && content.bigint === raw;
  if (typeof raw === 'number') return content.kind === 'float' && Object.is(content.value, raw);
  // No key takes a date, so that both see one is enough.
  if (raw instanceof Date) return content.value instanceof Date;
  return content.kind === typeof raw && content.value === raw;
}

function positionOf({ value }: Spot): SourcePosition {
  return { line: value.start.line, column: value.start.column + 1 };
}
