/** Where a guest trapped, in the words of its module: names of functions, and lines of sources. */
import { functionNames, hasSourcePlaces } from '@palisade/wasm';
import { readableName, type TrapFrame } from '../../core/call-log.ts';
import type { DoneHead, LocatedHead } from './engine/protocol.ts';
import type { EngineProcess } from './engine-process.ts';

type Lines = LocatedHead['lines'] | null;
/** The bytes that trapped, and the limit of memory that their form was made for. */
type Trapped = { readonly bytes: Uint8Array; readonly memoryBytes: number };

/** Boundary: a module is metered again for its lines, which its fuel does not pay for. */
const MOST_LOCATED_BYTES = 8 * 1024 * 1024;
const MOST_LOCATE_MS = 5_000;

/** The functions that were running, the innermost first; lines only of a module that says which they are. */
export async function trapOf(
  engine: Pick<EngineProcess, 'locate' | 'end'>,
  { frames = [], places = [] }: Pick<DoneHead, 'frames' | 'places'>,
  { bytes, memoryBytes }: Trapped,
): Promise<readonly TrapFrame[]> {
  if (frames.length === 0) return [];
  const isLocated =
    places.length === frames.length && bytes.length <= MOST_LOCATED_BYTES && hasSourcePlaces(bytes);
  if (!isLocated) return named(bytes, frames, null);
  const timer = setTimeout(() => engine.end('it took too long to find lines'), MOST_LOCATE_MS);
  const lines = await engine.locate(bytes, { memoryBytes, places }).finally(() => clearTimeout(timer));
  return named(bytes, frames, lines);
}

/** The names that the module itself gives to its functions. */
function named(module: Uint8Array, frames: readonly number[], lines: Lines): readonly TrapFrame[] {
  const names = functionNames(module, frames);
  return frames.map((index, at) => {
    const [line = null, name] = [lines?.[at], names.get(index)];
    const source = line === null ? {} : { source: `${line.file}:${line.line}` };
    return { function: index, name: name === undefined ? null : readableName(name), ...source };
  });
}
