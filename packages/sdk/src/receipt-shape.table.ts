import { CODES } from './codes.table.ts';
import { RECEIPT_PREDICATE_TYPE, STATEMENT_TYPE } from './receipt.ts';
import * as is from './shape.ts';

const SUBJECT_DIGEST = is.objectOf({ sha256: is.hash });

/** Every field of a receipt. schema/receipt.schema.json says the same for other languages; a test compares the two. */
export const STATEMENT: is.Shape = is.objectOf({
  _type: is.constant(STATEMENT_TYPE),
  subject: is.tuple(
    [
      is.objectOf({ name: is.constant('input'), digest: SUBJECT_DIGEST }),
      is.objectOf({ name: is.constant('output'), digest: SUBJECT_DIGEST }),
    ],
    1,
  ),
  predicateType: is.constant(RECEIPT_PREDICATE_TYPE),
  predicate: is.objectOf({
    call: is.objectOf({
      id: is.name,
      run: is.nullable(is.name),
      door: is.name,
      receivedAt: is.instant,
      startedAt: is.nullable(is.instant),
      endedAt: is.instant,
    }),
    principal: is.matching(/^(?:agent|user|service):[!-~]+$/, '"agent:NAME", "user:NAME" or "service:NAME"'),
    tenant: is.name,
    tool: is.objectOf({ id: is.text, definition: is.nullable(is.hash) }),
    outcome: is.objectOf({
      status: is.oneOf(['ok', 'refused', 'failed']),
      code: is.oneOf(Object.keys(CODES), 'a code of the table'),
    }),
    output: is.nullable(is.objectOf({ bytes: is.count, truncated: is.flag })),
    policy: is.objectOf({ set: is.nullable(is.hash), decidedBy: is.listOf(is.text) }),
    approval: is.nullable(is.objectOf({ id: is.name, by: is.name, at: is.instant })),
    artifacts: is.listOf(is.objectOf({ name: is.name, sha256: is.hash })),
    execution: is.nullable(
      is.objectOf({
        tier: is.name,
        executor: is.name,
        isolation: is.mapOf(
          is.leaf('a string, a number or a boolean', (value) =>
            /^(?:string|number|boolean)$/.test(typeof value),
          ),
        ),
      }),
    ),
    limits: is.nullable(
      is.objectOf({
        wallMs: is.amount,
        cpuMs: is.amount,
        fuel: is.amount,
        memoryBytes: is.amount,
        outputBytes: is.amount,
        egressBytes: is.amount,
      }),
    ),
    usage: is.objectOf({
      calls: is.count,
      wallMs: is.count,
      cpuMs: is.count,
      fuel: is.count,
      outputBytes: is.count,
      egressBytes: is.count,
    }),
    journal: is.objectOf({ seq: is.positiveInteger, prev: is.hash }),
    gateway: is.objectOf({ version: is.name }),
  }),
});
