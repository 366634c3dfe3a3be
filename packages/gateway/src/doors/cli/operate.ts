import type { Gateway } from '../../invoke/gateway.ts';
import { localOwner } from '../../operations/access.ts';
import { findOperation, type OperationName } from '../../operations/operate.ts';
import { type ByteStream, perform } from '../../operations/operation.ts';
import { principalOf } from './input.ts';
import { finishUnread, withGateway, withRecords } from './opened.ts';
import { writeOut } from './out-file.ts';
import type { Invocation, Opened } from './verb.ts';

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
export async function operate<Document>(
  invocation: Invocation,
  name: OperationName,
  input: object,
  options: OperateOptions = {},
): Promise<Document> {
  const row = await findOperation(name);
  // A wrong --as is reported before anything is opened.
  principalOf(invocation);
  if (row.opens === 'records')
    return withRecords(invocation, (records) =>
      run<Document>(invocation, records, name, { input, ...options }),
    );
  finishUnread(invocation);
  return withGateway(invocation, (gateway) =>
    run<Document>(invocation, gateway, name, { input, ...options }),
  );
}

/** The same where the gateway is open already. */
export function operateOn<Document>(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  name: OperationName,
  input: object,
): Promise<Document> {
  return run(invocation, gateway, name, { input });
}

type Opening = Parameters<typeof perform>[1]['gateway'];
type Request = OperateOptions & { readonly input: object };

async function run<Document>(
  invocation: Invocation,
  gateway: Opening | Opened<Gateway>,
  name: OperationName,
  { input, tenant = gateway.config.gateway.tenant }: Request,
): Promise<Document> {
  const caller = localOwner(principalOf(invocation), tenant);
  const context = { gateway: gateway as Opening, caller, door: 'cli', signal: invocation.signal } as const;
  const result = await perform(await findOperation(name), context, withoutAbsent(input));
  return result as Document;
}

/** Flags that were not given are no members of an input. */
function withoutAbsent(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** Runs an operation whose result is exact bytes and writes them to --out, or to standard output. Gives the file or null. */
export async function operateToFile(
  invocation: Invocation,
  name: OperationName,
  input: object,
  end = '',
): Promise<string | null> {
  return withRecords(invocation, async (records) => {
    const stream = await run<ByteStream>(invocation, records, name, { input });
    return writeOut(invocation, textOf(stream, end));
  });
}

async function* textOf({ chunks }: ByteStream, end: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield `${decoder.decode()}${end}`;
}
