import type { Gateway, Opened } from '../../invoke/gateway.ts';
import { localOwner } from '../../operations/access.ts';
import {
  findOperation,
  type OperationName,
  type ResultOf,
  operate as runOperation,
} from '../../operations/operate.ts';
import type { ByteStream, OperationContext } from '../../operations/operation.ts';
import { principalOf } from './input.ts';
import { finishUnread, withGateway, withRecords } from './opened.ts';
import { writeOut } from './out-file.ts';
import type { Invocation } from './verb.ts';

/*
 * Verbs as adapters of operations: flags become an input, the operation is run by the owner of the state directory in the
 * name of --as, and its document is printed. What an operation opens, checks and gives is for its row to say.
 */

/** What a verb may choose in addition to the input. */
type OperateOptions = {
  /** The tenant that the caller acts in; by default that of the gateway. */
  readonly tenant?: string | undefined;
};

/** Runs an operation and gives its document. */
export async function operate<Name extends OperationName>(
  invocation: Invocation,
  name: Name,
  input: object,
  options: OperateOptions = {},
): Promise<ResultOf<Name>> {
  const { opens } = await findOperation(name);
  // A wrong --as is reported before anything is opened.
  principalOf(invocation);
  if (opens === 'records')
    return withRecords(invocation, (records) => run(invocation, records, name, { input, ...options }));
  finishUnread(invocation);
  return withGateway(invocation, (gateway) => run(invocation, gateway, name, { input, ...options }));
}

/** The same where the gateway is open already. */
export function operateOn<Name extends OperationName>(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  name: Name,
  input: object,
): Promise<ResultOf<Name>> {
  return run(invocation, gateway, name, { input });
}

type Opening = OperationContext['gateway'];
type Request = OperateOptions & { readonly input: object };

function run<Name extends OperationName>(
  invocation: Invocation,
  gateway: Opening | Opened<Gateway>,
  name: Name,
  { input, tenant = gateway.config.gateway.tenant }: Request,
): Promise<ResultOf<Name>> {
  const caller = localOwner(principalOf(invocation), tenant);
  const context = { gateway: gateway as Opening, caller, door: 'cli', signal: invocation.signal } as const;
  return runOperation(context, name, withoutAbsent(input));
}

/** Flags that were not passed are left out of the input. */
function withoutAbsent(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** Runs an operation whose result is exact bytes and writes them to --out, or to standard output. Gives the file or null. */
export async function operateToFile(
  invocation: Invocation,
  name: 'exportJournal' | 'exportKeys' | 'getCheckpoint' | 'proveRecord',
  input: object,
  end = '',
): Promise<string | null> {
  return withRecords(invocation, async (records) => {
    const stream = await run(invocation, records, name, { input });
    return writeOut(invocation, textOf(stream, end));
  });
}

async function* textOf({ chunks }: ByteStream, end: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield `${decoder.decode()}${end}`;
}
