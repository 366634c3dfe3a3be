/**
 * The interfaces of the world `skill`, function for function as packages/guest/wit has them. Each does what one function of
 * the ABI does, so it needs the same grant, costs the same fuel and asks the gateway the same question.
 */
import type { WitFunction } from '@palisade/wasm';
import type { AbiName } from './abi.table.ts';
import { enumOf, func, list, option, record, result, tuple, variant } from './wit.ts';

/** A function that a component can import. */
export type WorldRow = {
  /** Without its version. */
  readonly interface: string;
  readonly name: string;
  readonly type: WitFunction;
  /** The function of the ABI whose grant it needs and whose fuel it costs; null: it needs none. */
  readonly does: AbiName | null;
};

export const SKILL_PACKAGE = 'palisade:skill';
export const SKILL_VERSION = '1.0.0';

/** The errors of the ABI by their order, which is that of their numbers. */
export const ERROR_NAMES = [
  'denied',
  'missing',
  'too-large',
  'full',
  'conflict',
  'invalid',
  'unavailable',
  'too-slow',
] as const;
/** The levels of the log by their numbers in the ABI. */
export const LEVEL_NAMES = ['debug', 'info', 'warning', 'error'] as const;

const ERROR = enumOf(...ERROR_NAMES);
const KIND = enumOf('http', 'secret', 'storage', 'channel');
const LEVEL = enumOf(...LEVEL_NAMES);
const BYTES = list('u8');
const HEADERS = list(tuple('string', 'string'));
const SECRET_USE = record({ handle: 'u32', header: 'string', format: 'string' });
const REQUEST = record({
  method: 'string',
  url: 'string',
  headers: HEADERS,
  body: BYTES,
  secret: option(SECRET_USE),
});
const RESPONSE = record({ status: 'u16', url: 'string', headers: HEADERS, body: BYTES });
const ENTRY = record({ version: 'u64', value: BYTES });
const CONDITION = variant({ always: null, absent: null, version: 'u64' });
const MESSAGE = record({ sender: 'string', body: BYTES });
const FAILURE = record({ code: 'string', message: 'string' });

/** What a component exports: JSON in, JSON out. */
export const RUN_NAME = 'run';
export const RUN_TYPE = func({ tool: 'string', input: 'string' }, result('string', FAILURE));

const row = (place: string, does: AbiName, type: WitFunction): WorldRow => {
  const [name = '', called = ''] = place.split('.');
  return { interface: `${SKILL_PACKAGE}/${name}`, name: called, type, does };
};

/** Interfaces of the package that only have types. */
export const TYPE_INTERFACES: readonly string[] = [`${SKILL_PACKAGE}/types`];

export const SKILL_FUNCTIONS: readonly WorldRow[] = [
  row('capabilities.count', 'capability_count', func({ kind: KIND }, 'u32')),
  row('capabilities.handle', 'capability_handle', func({ kind: KIND, index: 'u32' }, result('u32', ERROR))),
  row('http.send', 'http_request', func({ handle: 'u32', request: REQUEST }, result(RESPONSE, ERROR))),
  row('secrets.read', 'secret_read', func({ handle: 'u32' }, result(BYTES, ERROR))),
  row('storage.get', 'storage_get', func({ handle: 'u32', key: 'string' }, result(ENTRY, ERROR))),
  row(
    'storage.put',
    'storage_put',
    func({ handle: 'u32', key: 'string', value: BYTES, condition: CONDITION }, result(null, ERROR)),
  ),
  row(
    'storage.delete',
    'storage_delete',
    func({ handle: 'u32', key: 'string', version: option('u64') }, result(null, ERROR)),
  ),
  row(
    'storage.keys',
    'storage_list',
    func({ handle: 'u32', prefix: 'string', after: 'string', limit: 'u32' }, result(list('string'), ERROR)),
  ),
  row('channels.publish', 'channel_publish', func({ handle: 'u32', message: BYTES }, result(null, ERROR))),
  row(
    'channels.receive',
    'channel_receive',
    func({ handle: 'u32', 'wait-ms': 'u32' }, result(MESSAGE, ERROR)),
  ),
  row('log.write', 'log', func({ level: LEVEL, text: 'string' })),
  row('clock.now-ms', 'clock_ms', func({}, 'f64')),
  row('random.bytes', 'random', func({ length: 'u32' }, BYTES)),
  row('config.get', 'config_get', func({ key: 'string' }, option('string'))),
];
