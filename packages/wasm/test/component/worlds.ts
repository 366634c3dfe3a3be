import type { WitFunction, WitType } from '../../src/component/types.ts';
import { type Exports, type Fixture, host, worldOf } from './linked.ts';

const FAILURE: WitType = {
  kind: 'record',
  fields: [
    ['code', 'string'],
    ['message', 'string'],
  ],
};
const LEVEL: WitType = { kind: 'enum', names: ['debug', 'info', 'warning', 'error'] };
const ERROR = 'test:io/error@0.2.3/error';
const STREAM = 'test:io/streams@0.2.3/output-stream';
const STREAM_ERROR: WitType = {
  kind: 'variant',
  cases: [
    ['last-operation-failed', { kind: 'own', resource: ERROR }],
    ['closed', null],
  ],
};
const nullary = (result: WitType): WitFunction => ({ params: [], result });
const dropOf = (resource: string): WitFunction => ({
  params: [['self', { kind: 'own', resource }]],
  result: null,
});
const ADD: WitFunction = { params: [['x', 'u32']], result: 'u32' };

/** What each fixture imports, by the type that its text says. */
export const IMPORTS: Readonly<Record<Fixture, Readonly<Record<string, WitFunction>>>> = {
  shim: {
    'palisade:skill/log@1.0.0#write': {
      params: [
        ['level', LEVEL],
        ['text', 'string'],
      ],
      result: null,
    },
  },
  reallocs: {
    'test:host/text@1.0.0#main': nullary('string'),
    'test:host/text@1.0.0#adapter': nullary('string'),
  },
  nested: { 'test:host/clock@1.0.0#now': nullary('u64') },
  resources: {
    'test:io/error@0.2.3#[resource-drop]error': dropOf(ERROR),
    'test:io/streams@0.2.3#[resource-drop]output-stream': dropOf(STREAM),
    'test:io/streams@0.2.3#open': nullary({ kind: 'own', resource: STREAM }),
    'test:io/streams@0.2.3#[method]output-stream.check-write': {
      params: [['self', { kind: 'borrow', resource: STREAM }]],
      result: { kind: 'result', ok: 'u64', error: STREAM_ERROR },
    },
  },
};

/** What each fixture exports. */
export const EXPORTS: Readonly<Record<Fixture, Exports>> = {
  shim: {
    run: {
      params: [
        ['tool', 'string'],
        ['input', 'string'],
      ],
      result: { kind: 'result', ok: 'string', error: FAILURE },
    },
  },
  reallocs: { run: { params: [['input', 'string']], result: { kind: 'list', element: 'u32' } } },
  nested: { sums: ADD, again: ADD },
  resources: { run: nullary('u64') },
};

/** The functions of a fixture's world, each doing what `run` has for it. */
export function hostsOf(name: Fixture, run: Readonly<Record<string, (...values: unknown[]) => unknown>>) {
  return Object.entries(IMPORTS[name]).map(([full, type]) => {
    const [module = '', short = ''] = full.split('#');
    return host(module, short, type, run[short] ?? (() => undefined));
  });
}

/** The world of a fixture, perhaps with other functions. */
export function worldFor(name: Fixture, imports = IMPORTS[name], exports: Exports = EXPORTS[name]) {
  const rows = Object.entries(imports).map(([full, type]) => {
    const [module = '', short = ''] = full.split('#');
    return { module, name: short, type };
  });
  return worldOf(rows, exports);
}
