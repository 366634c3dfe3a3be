import type { Gateway, Opened } from '../../invoke/gateway.ts';
import { localOwner } from '../../operations/access.ts';
import {
  findOperation,
  type OperationName,
  type ResultOf,
  operate as runOperation,
} from '../../operations/operate.ts';
import type { ByteStream, OpenedRecords } from '../../operations/operation.ts';
import { principalOf, textOf } from './input.ts';
import { finishUnread, withGateway, withRecords } from './opened.ts';
import { writeOut } from './out-file.ts';
import type { Invocation, VerbRun } from './verb.ts';

/*
 * Verbs as adapters of operations: flags become an input, the operation is run by the owner of the state directory in the
 * name of --as and in the tenant of --tenant, and its document is printed. What an operation opens, checks and gives is
 * for its row to say.
 */

export type Opening = OpenedRecords | Opened<Gateway>;

/** Runs an operation and gives its document. */
export async function operate<Name extends OperationName>(
  invocation: Invocation,
  name: Name,
  input: object,
): Promise<ResultOf<Name>> {
  const { opens } = await findOperation(name);
  // A wrong --as is reported before anything is opened.
  principalOf(invocation);
  const run = (opened: Opening) => operateOn(invocation, opened, name, input);
  if (opens === 'records') return withRecords(invocation, run);
  finishUnread(invocation);
  return withGateway(invocation, run);
}

/** The same where the records or the gateway are open already. Flags that were not passed are left out of the input. */
export function operateOn<Name extends OperationName>(
  invocation: Invocation,
  opened: Opening,
  name: Name,
  input: object,
): Promise<ResultOf<Name>> {
  const gateway = opened as OpenedRecords;
  const tenant = textOf(invocation, 'tenant') ?? gateway.config.gateway.tenant;
  const caller = localOwner(principalOf(invocation), tenant);
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  return runOperation({ gateway, caller, door: 'cli', signal: invocation.signal }, name, given);
}

/**
 * A verb that runs one operation: its input from the command line, how its document is shown without --json, and the exit
 * status where it is not always that of success.
 */
export function operationVerb<Name extends OperationName>(
  name: Name,
  inputOf: (invocation: Invocation) => object | Promise<object>,
  show: (document: ResultOf<Name>, invocation: Invocation) => void,
  statusOf: (document: ResultOf<Name>) => number = () => 0,
): VerbRun {
  return async (invocation) => {
    const document = await operate(invocation, name, await inputOf(invocation));
    invocation.print.result(document, () => show(document, invocation));
    return statusOf(document);
  };
}

/** Runs an operation whose result is exact bytes and writes them to --out, or to standard output. Gives the file or null. */
export async function operateToFile(
  invocation: Invocation,
  name: 'exportJournal' | 'exportKeys' | 'getCheckpoint' | 'proveRecord',
  input: object,
  end = '',
): Promise<string | null> {
  return withRecords(invocation, async (records) =>
    writeOut(invocation, decoded(await operateOn(invocation, records, name, input), end)),
  );
}

async function* decoded({ chunks }: ByteStream, end: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield `${decoder.decode()}${end}`;
}
