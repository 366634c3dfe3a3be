import type { ZodType, z } from 'zod';
import type { Operation } from '../../operations/operation.ts';

/** Where requests to an operation carry the members of its input. */
export type Binding = {
  readonly operation: Operation;
  /** The members in the path, in their order there. */
  readonly path: readonly string[];
  readonly query: ReadonlySet<string>;
  /** The members of the JSON body; null: it takes none. */
  readonly body: ReadonlySet<string> | null;
};

const PARAMETER = /\{([A-Za-z]+)\}/g;

/** Takes the binding from a row: path, headers and bytes are named there, and the method says where the others are. */
export function bind(operation: Operation): Binding {
  const { http, input } = operation;
  const path = [...http.path.matchAll(PARAMETER)].map(([, name = '']) => name);
  const elsewhere = new Set([...path, ...Object.values(http.headers ?? {}).map(({ member }) => member)]);
  if (http.bytes !== undefined) elsewhere.add(http.bytes.member);
  const rest = new Set(Object.keys(input.shape).filter((member) => !elsewhere.has(member)));
  const isQuery = http.method === 'GET' || http.method === 'DELETE' || http.bytes !== undefined;
  const isBody = !isQuery && rest.size > 0;
  return { operation, path, query: isQuery ? rest : new Set(), body: isBody ? rest : null };
}

/** The schema of some members of the input alone. */
export function schemaOf({ operation }: Binding, members: Iterable<string>): ZodType {
  const mask = Object.fromEntries([...members].map((member) => [member, true as const]));
  return operation.input.pick(mask as z.util.Mask<string>);
}
