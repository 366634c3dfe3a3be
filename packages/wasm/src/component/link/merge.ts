/**
 * Writes the core instances of a component as one core module. Each module keeps its own types, functions, tables,
 * memories, globals and segments; what one imported from another has become an index. One thing differs from making the
 * instances one by one: all active segments are in place before the first start function runs, not only those of the
 * modules up to it. A start function that traps or one that a later segment overwrites would show the difference; no
 * tool we know produces either.
 */
import type { Limits } from '../../limits.ts';
import { OP } from '../../meter/op.ts';
import { Sink } from '../../meter/sink.ts';
import { I32 } from '../../read/value-type.ts';
import { shifted } from './core-instance.ts';
import { type Extras, extrasOf } from './extras.ts';
import type { PlannedInstance } from './items.ts';
import { type Layout, layOut } from './layout.ts';
import { reindexBodies } from './reindex.ts';
import {
  type Entries,
  exportsOf,
  extentsOf,
  functionsOf,
  importsOf,
  typesOf,
  writeDeclared,
  writeNumber,
  writeSection,
} from './sections.ts';
import type { Surface } from './surface.ts';
import { type Transcript, writeData, writeElements, writeGlobals } from './transcribe.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** The bytes of the linked module. */
export function merge(
  instances: readonly PlannedInstance[],
  surface: Surface,
  limits: Limits,
): Uint8Array<ArrayBuffer> {
  const layout = layOut(instances, surface);
  const extras = extrasOf(layout, surface);
  const transcript: Transcript = { limits, initials: [] };
  const named = new Set<number>();
  const size = instances.reduce((sum, { module }) => sum + module.bytes.length, 4096);
  const code = codeOf(layout, extras, named, new Sink(size));
  const out = new Sink(size);
  out.all(HEADER);
  writeSection(out, 1, typesOf(layout));
  writeSection(out, 2, importsOf(layout, surface));
  writeSection(out, 3, functionsOf(layout, extras));
  writeSection(out, 4, extentsOf(layout, 'tables'));
  writeSection(out, 5, extentsOf(layout, 'memories'));
  writeSection(out, 6, globalsOf(layout, extras, transcript));
  writeSection(out, 7, exportsOf(layout, surface, extras));
  if (extras.start !== null) writeNumber(out, 8, extras.start);
  writeSection(out, 9, elementsOf(layout, transcript, named));
  const data = dataOf(layout, transcript);
  if (data[0] > 0) writeNumber(out, 12, data[0]);
  writeSection(out, 10, code);
  writeSection(out, 11, data);
  return out.taken();
}

/** All bodies; functions that `ref.func` names in them are noted. */
function codeOf({ modules }: Layout, extras: Extras, named: Set<number>, out: Sink): Entries {
  let count = extras.functions.length;
  for (const placed of modules) {
    const { bytes, bodies } = placed.module;
    try {
      reindexBodies(placed, out, named);
    } catch (error) {
      throw shifted(error, bytes.byteOffset);
    }
    count += bodies.length / 2;
  }
  for (const { body } of extras.functions) out.sized(body);
  return [count, out];
}

function globalsOf({ modules }: Layout, { choice }: Extras, transcript: Transcript): Entries {
  const out = new Sink();
  for (const placed of modules) writeGlobals(placed, transcript, out);
  const count = transcript.initials.length;
  if (choice === null) return [count, out];
  out.all([I32, 1, OP.i32Const, 0, OP.end]);
  return [count + 1, out];
}

function elementsOf({ modules }: Layout, transcript: Transcript, named: ReadonlySet<number>): Entries {
  const out = new Sink();
  for (const placed of modules) writeElements(placed, transcript, out);
  writeDeclared(out, named);
  const count = modules.reduce((sum, { module }) => sum + module.elements.length, 0);
  return [named.size > 0 ? count + 1 : count, out];
}

function dataOf({ modules }: Layout, transcript: Transcript): Entries {
  const out = new Sink();
  for (const placed of modules) writeData(placed, transcript, out);
  return [modules.reduce((sum, { module }) => sum + module.data.length, 0), out];
}
