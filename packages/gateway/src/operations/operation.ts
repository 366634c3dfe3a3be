import type { Code } from '@palisade/sdk';
import type { ZodObject, ZodType, z } from 'zod';
import type { Scope } from '../core/caller.ts';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import type { Json } from '../core/json.ts';
import type { Gateway, Opened, Records } from '../invoke/gateway.ts';
import type { PolicyEngine } from '../policy/engine.ts';
import {
  type OperationCaller,
  type Reading,
  requireHomeReader,
  requireReader,
  requireScope,
} from './access.ts';

/*
 * One row for each operation of the gateway, grouped by noun in the files of this folder. Doors adapt the rows: HTTP
 * routes requests to them and prints the OpenAPI document from them, MCP and the command line run them. A handler gets
 * an input that fits its row and a caller that the row is for; it does not depend on the door, and what it may show is
 * decided in access.ts. Rows import no evaluator of policies, so that those that read only the stores start fast.
 */

/** The stores; with the policies where the whole gateway is open. */
export type OpenedRecords = Opened<Records> & { readonly policy?: PolicyEngine };
export type OpenedGateway = Opened<Gateway>;

/** What a handler needs open: the stores alone, or the whole gateway. */
export type Opens = 'records' | 'gateway';

export type OperationContext<Open = OpenedRecords> = {
  readonly gateway: Open;
  readonly caller: OperationCaller;
  /** The door that the caller came by, as records name it. */
  readonly door: 'http' | 'mcp' | 'cli';
  /** Fires when the caller is gone or the gateway has to stop. */
  readonly signal: AbortSignal;
  /** Throws once the credential of the caller is no longer valid; for streams, which outlive the first check. */
  readonly recheck?: () => Promise<void>;
};

export type ServerEvent = { readonly event: string; readonly id?: string; readonly data: Json };

/** A result that comes event by event. */
export class EventStream {
  readonly events: AsyncIterable<ServerEvent>;

  constructor(events: AsyncIterable<ServerEvent>) {
    this.events = events;
  }
}

/** A result whose bytes matter: a file, or a document whose exact bytes are signed. */
export class ByteStream {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** What to call the file. */
  readonly fileName: string | null;

  constructor(chunks: AsyncIterable<Uint8Array>, fileName: string | null = null) {
    this.chunks = chunks;
    this.fileName = fileName;
  }

  /** Bytes that are all there already. */
  static of(bytes: string | Uint8Array, fileName: string | null = null): ByteStream {
    const chunks = (async function* () {
      yield typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    })();
    return new ByteStream(chunks, fileName);
  }
}

/** A document that programs read as JSON, or a stream. */
export type OperationResult = object | string | number | boolean | null;

/** A refusal with further members besides its code, message and remedy. */
export class OperationProblem extends CodedError {
  override readonly name: 'CodedError' = 'CodedError';
  readonly more: Readonly<Record<string, Json>>;

  constructor(
    code: Code,
    message: string,
    options: { readonly remedy?: string; readonly more: Readonly<Record<string, Json>> },
  ) {
    super(code, message, options.remedy === undefined ? {} : { remedy: options.remedy });
    this.more = options.more;
  }
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Where HTTP finds the members of the input: those in braces are in the path, `headers` and `bytes` are named here; the
 * others are the query of a GET, a DELETE or an upload, and the JSON body of any other request.
 */
type HttpBinding = {
  readonly method: HttpMethod;
  /** Parameters in braces: `/v1/calls/{id}`. */
  readonly path: string;
  /** Lower-case header → member of the input, and a sentence about it. */
  readonly headers?: Readonly<Record<string, { readonly member: string; readonly sentence: string }>>;
  /** The member that is the body as it is. */
  readonly bytes?: { readonly member: string; readonly maxBytes: number };
};

/** The result of a successful operation. */
type OutputRule = {
  /** The media type; JSON by default. */
  readonly type?: string;
  /** The shape of a document; streams have none. */
  readonly schema?: ZodType;
  readonly sentence: string;
  /** The events of a stream, each with `event`, its name, and `data`. */
  readonly events?: ZodType;
  /** What its problems have besides the members of every problem. */
  readonly problem?: ZodObject;
  /** Whether something was created: always, or as the document says, with its description. */
  readonly created?:
    | true
    | { readonly sentence: string; readonly when: (document: OperationResult) => boolean };
};

export type OperationRow<Input extends ZodObject, Open extends Opens> = {
  /** As in the OpenAPI document and the client: `getCall`. */
  readonly name: string;
  readonly noun: string;
  readonly sentence: string;
  /** What the credential must be valid for; null: any credential. */
  readonly scope: Scope | null;
  /** The Cedar action that the policies are asked about, where there is one. */
  readonly action?: string;
  /** Refuses callers that the operation is not for; left out: the handler decides, by what the caller names. */
  readonly access?: (reading: Reading) => void;
  readonly opens: Open;
  readonly http: HttpBinding;
  readonly input: Input;
  readonly output: OutputRule;
  readonly handle: (
    context: OperationContext<Open extends 'gateway' ? OpenedGateway : OpenedRecords>,
    input: z.output<Input>,
  ) => OperationResult | Promise<OperationResult>;
};

/** A row whose types were checked where it was written. */
export type Operation = Omit<OperationRow<ZodObject, Opens>, 'handle'> & {
  readonly handle: (context: OperationContext, input: unknown) => OperationResult | Promise<OperationResult>;
};

/** Types the handler of a row by what the row opens and accepts. */
export function operation<Input extends ZodObject, Open extends Opens>(
  row: OperationRow<Input, Open>,
): Operation {
  return row as unknown as Operation;
}

/** The facts of operations that read what a tenant did, and of those that read what belongs to the whole gateway. */
export const READS = { scope: 'read', action: 'readJournal', access: requireReader } as const;
export const READS_GATEWAY = { ...READS, access: requireHomeReader } as const;

/** The facts of operations of administrators. */
export const ADMINISTERS = { scope: 'admin', action: 'administer', opens: 'gateway' } as const;

const MAX_ISSUES = 8;

/** Runs one row: checks the caller and the input, then hands both to its handler. */
export async function perform(
  row: Operation,
  context: OperationContext,
  rawInput: unknown,
): Promise<OperationResult> {
  requireScope(context.caller, row.scope);
  if (row.opens === 'gateway' && context.gateway.policy === undefined)
    throw new TypeError(`Cannot run ${row.name}: only the records are open, expected the whole gateway`);
  const input = checkInput(row, rawInput);
  row.access?.(context);
  return row.handle(context, input);
}

/** Boundary: a handler sees only input that its row accepts. */
function checkInput({ input }: Operation, raw: unknown): unknown {
  const result = input.safeParse(raw);
  if (result.success) return result.data;
  const issues = result.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path.length === 0 ? message : `${quote(path.join('.'))}: ${message}`));
  throw wrongUsage(`Cannot use the input: ${issues.join('; ')}`);
}
