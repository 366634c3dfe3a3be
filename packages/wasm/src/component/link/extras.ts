/** The few functions that the linked module has and none of its parts had. */
import { NOTHING, OP } from '../../meter/op.ts';
import { codeOf } from '../../meter/opcodes.ts';
import { Sink } from '../../meter/sink.ts';
import type { FunctionType } from '../../read/module.ts';
import { I32 } from '../../read/value-type.ts';
import { internType, KINDS, type Layout, type Wrapper } from './layout.ts';
import type { Surface } from './surface.ts';

const EQUAL = codeOf('i32.eq');
const NULLARY: FunctionType = { params: [], results: [] };
const REALLOC: FunctionType = { params: [I32, I32, I32, I32], results: [I32] };

/** What is added to the functions of the modules. */
export type Extras = {
  readonly functions: readonly { readonly type: number; readonly body: Sink }[];
  /** The global that says which allocator the host shall use; there is one where there are several. */
  readonly choice: number | null;
  readonly realloc: number | null;
  readonly start: number | null;
};

/** Works them out. It adds to the types of the layout. */
export function extrasOf(layout: Layout, surface: Surface): Extras {
  const functions: { type: number; body: Sink }[] = [];
  const add = (type: number, body: Sink): number => layout.extras + functions.push({ type, body }) - 1;
  const reallocs = surface.reallocs.map(layout.functionAt);
  const choice = reallocs.length > 1 ? layout.globals : null;
  if (choice !== null) {
    for (const wrapper of layout.wrappers) add(wrapper.type, writeWrapper(wrapper, choice));
  }
  const realloc =
    choice === null
      ? (reallocs[0] ?? null)
      : add(internType(layout.types, REALLOC), writeDispatch(reallocs, choice));
  const starts = layout.modules.flatMap(({ module, maps }) =>
    module.start === undefined ? [] : [maps[KINDS.function]?.[module.start] ?? 0],
  );
  const start =
    starts.length > 1 ? add(internType(layout.types, NULLARY), writeStart(starts)) : (starts[0] ?? null);
  return { functions, choice, realloc, start };
}

function pushParams(out: Sink, count: number): void {
  for (let index = 0; index < count; index += 1) {
    out.byte(OP.localGet);
    out.index(index);
  }
}

function choose(out: Sink, choice: number, realloc: number): void {
  out.byte(OP.i32Const);
  out.signed(realloc);
  out.byte(OP.globalSet);
  out.index(choice);
}

/** Calls an import with `choice` set to its allocator; outside of such calls it is that of the exports. */
function writeWrapper({ core, import: index, realloc }: Wrapper, choice: number): Sink {
  const out = new Sink(64);
  out.byte(0);
  choose(out, choice, realloc);
  pushParams(out, core.type.params.length);
  out.byte(OP.call);
  out.index(index);
  choose(out, choice, 0);
  out.byte(OP.end);
  return out;
}

/** The allocator of which `choice` has the number. */
function writeDispatch(reallocs: readonly number[], choice: number): Sink {
  const out = new Sink(64);
  out.byte(0);
  reallocs.forEach((realloc, number) => {
    const isLast = number === reallocs.length - 1;
    if (!isLast) {
      out.byte(OP.globalGet);
      out.index(choice);
      out.byte(OP.i32Const);
      out.signed(number);
      out.byte(EQUAL);
      out.byte(OP.if);
      out.byte(NOTHING);
    }
    pushParams(out, REALLOC.params.length);
    out.byte(OP.call);
    out.index(realloc);
    if (isLast) return;
    out.byte(OP.return);
    out.byte(OP.end);
  });
  out.byte(OP.end);
  return out;
}

/** Calls all start functions in the order of their instances. */
function writeStart(starts: readonly number[]): Sink {
  const out = new Sink(64);
  out.byte(0);
  for (const start of starts) {
    out.byte(OP.call);
    out.index(start);
  }
  out.byte(OP.end);
  return out;
}
