import { PalisadeClient, type Wire } from '@palisade/sdk';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { Json } from '../../../src/core/json.ts';
import type { Route } from '../../../src/doors/http/route.ts';
import { ROUTES } from '../../../src/doors/http/routes/index.ts';
import type * as approval from '../../../src/doors/http/schemas/approval.ts';
import type * as call from '../../../src/doors/http/schemas/call.ts';
import type * as journal from '../../../src/doors/http/schemas/journal.ts';
import type * as policy from '../../../src/doors/http/schemas/policy.ts';
import type * as secret from '../../../src/doors/http/schemas/secret.ts';
import type * as skill from '../../../src/doors/http/schemas/skill.ts';
import type * as tool from '../../../src/doors/http/schemas/tool.ts';
import type * as trust from '../../../src/doors/http/schemas/trust.ts';
import type * as upstream from '../../../src/doors/http/schemas/upstream.ts';
import { REQUESTS } from './client-requests.ts';
import { SAMPLES } from './wire-samples.ts';

/** The same without the right to change it; what can be any JSON is left as it is. */
type Frozen<T> = Json extends T
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Frozen<T[Key]> }
      : T;

/** Whether each is good where the other is wanted. */
type Agree<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? true
    : 'the wire type has more'
  : 'the schema has more';

/** A reply as its schema lets it out, and a body as its schema lets it in. */
type Out<S extends z.ZodType, T> = Agree<Frozen<z.output<S>>, T>;
type In<S extends z.ZodType, T> = Agree<Frozen<z.input<S>>, T>;

describe('the types of the client', () => {
  test('are those of the schemas of the gateway', () => {
    expectTypeOf<Out<typeof call.toldCall, Wire.CallDocument>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof call.listedCall, Wire.ListedCall>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof call.shownCall, Wire.ShownCall>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof tool.toolRow, Wire.ToolRow>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof tool.tool, Wire.ToolDocument>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof approval.approval, Wire.ApprovalDocument>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof journal.journalPage, Wire.JournalPage>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof journal.hashedRecords, Wire.HashedRecords>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof journal.checkpoint, Wire.SignedEnvelope>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof journal.proof, Wire.JournalProof>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof policy.policies, Wire.PoliciesDocument>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof policy.replaced, Wire.ReplacedPolicies>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof policy.checked, Wire.CheckedPolicies>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof policy.explanation, Wire.Explanation>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof secret.secretList, Wire.SecretList>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof secret.secretSet, Wire.SecretSet>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof secret.secretRemoved, Wire.SecretRemoved>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.skillPage, Wire.SkillPage>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.shownSkill, Wire.ShownSkill>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.installedSkill, Wire.InstalledSkill>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.skillComparison, Wire.SkillComparison>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.auditReport, Wire.AuditReport>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.approvedSkill, Wire.ApprovedSkill>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.changedSkill, Wire.ChangedSkill>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof skill.rolledBack, Wire.RolledBackSkill>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof trust.trustList, Wire.TrustList>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof trust.rotatedKey, Wire.RotatedTrust>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof trust.revokedKey, Wire.RevokedTrust>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof upstream.upstreamList, Wire.UpstreamList>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof upstream.upstream, Wire.UpstreamDocument>>().toEqualTypeOf<true>();
  });

  test('are those of the bodies that the gateway takes', () => {
    // Any JSON has a type only once it is let in.
    expectTypeOf<Out<typeof call.callBody, Wire.CallRequest>>().toEqualTypeOf<true>();
    expectTypeOf<Out<typeof policy.explainBody, Wire.ExplainRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof approval.decisionBody, Wire.DecisionRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof skill.auditBody, Wire.AuditRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof skill.approveBody, Wire.ApproveRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof skill.changeBody, Wire.ChangeRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof skill.rollbackBody, Wire.RollbackRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof trust.addKeyBody, Wire.AddTrustRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof trust.rotateKeyBody, Wire.RotateTrustRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof trust.revokeKeyBody, Wire.RevokeTrustRequest>>().toEqualTypeOf<true>();
    expectTypeOf<In<typeof policy.replaceBody, Wire.ReplacePoliciesRequest>>().toEqualTypeOf<true>();
    expectTypeOf<
      In<typeof upstream.approveUpstreamBody, Wire.ApproveUpstreamRequest>
    >().toEqualTypeOf<true>();
    expectTypeOf<In<typeof policy.checkBody, Wire.CheckPoliciesRequest>>().toEqualTypeOf<true>();
  });

  test('would not be taken for others', () => {
    expectTypeOf<Out<typeof tool.tool, Wire.ToolRow>>().toEqualTypeOf<'the wire type has more'>();
    expectTypeOf<Out<typeof tool.toolRow, Wire.ToolDocument>>().toEqualTypeOf<'the schema has more'>();
  });
});

const DOCUMENTS = ROUTES.flatMap((row) =>
  Object.entries(row.replies).flatMap(([status, { schema }]) =>
    schema === undefined ? [] : [{ name: row.name, status, schema }],
  ),
);

describe('every document', () => {
  test.each(DOCUMENTS)(
    'of $name ($status) has all members that its schema has, and no others',
    ({ name, schema }) => {
      const samples: Readonly<Record<string, unknown>> = SAMPLES;
      const sample = samples[name];
      expect(schema.parse(sample)).toEqual(sample);
      const members = Array.isArray(sample) ? [] : Object.entries(sample ?? {});
      for (const [member] of members) {
        const rest = Object.fromEntries(members.filter(([other]) => other !== member));
        expect(schema.safeParse(rest), `without ${member}`).toMatchObject({ success: false });
      }
    },
  );

  test('of the client is one that a route gives', () => {
    expect(Object.keys(SAMPLES).sort()).toEqual([...new Set(DOCUMENTS.map(({ name }) => name))].sort());
  });
});

/** What the client sends for a row, and what it makes of the answer. */
async function request(row: Route) {
  const sent: Request[] = [];
  const fetch = (async (url: URL, init: RequestInit) => {
    if (sent.length > 0) throw new TypeError('it was asked once');
    sent.push(new Request(url, init));
    return answerFor(row);
  }) as typeof globalThis.fetch;
  const wait = () => Promise.reject(new Error('it does not wait'));
  const client = new PalisadeClient({ url: 'http://gate.example', token: 'pls_test', fetch, wait });
  const asked = REQUESTS[row.name]?.(client);
  const given = asked !== undefined && Symbol.asyncIterator in asked ? await firstOf(asked) : await asked;
  const [only] = sent;
  if (only === undefined) throw new Error(`The client sends nothing for ${row.name}`);
  return { sent: only, given };
}

function answerFor({ name, replies }: Route): Response {
  const samples: Readonly<Record<string, unknown>> = SAMPLES;
  if (Object.hasOwn(samples, name)) return Response.json(samples[name]);
  const [reply] = Object.values(replies);
  const isStream = reply?.type === 'text/event-stream';
  const body = isStream ? 'event: record\nid: 4\ndata: {"seq":4}\n\n' : 'bytes';
  return new Response(body, { headers: { 'content-type': reply?.type ?? '' } });
}

async function firstOf(items: AsyncIterable<unknown>): Promise<unknown> {
  for await (const item of items) return item;
  return undefined;
}

const STANDARD_HEADERS = ['accept', 'authorization', 'content-type'];

describe('PalisadeClient', () => {
  test('has a method for every route, and none for what is not there', () => {
    expect(Object.keys(REQUESTS).sort()).toEqual(ROUTES.map(({ name }) => name).sort());
  });

  test.each(ROUTES.map((row) => [row.name, row] as const))(
    'sends %s as its route takes it',
    async (_, row) => {
      const { sent } = await request(row);
      const url = new URL(sent.url);
      const pattern = row.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
      const found = new RegExp(`^${pattern}$`).exec(url.pathname);
      expect(`${sent.method} ${url.pathname}`).toMatch(new RegExp(`^${row.method} ${pattern}$`));
      const params = Object.entries(found?.groups ?? {}).map(([name, raw]) => [
        name,
        decodeURIComponent(raw),
      ]);
      if (row.params !== undefined) row.params.parse(Object.fromEntries(params));
      const query = Object.fromEntries(url.searchParams);
      const known = Object.keys(row.query?.shape ?? {});
      expect(Object.keys(query).sort(), 'all that the route can be asked').toEqual(known.sort());
      row.query?.parse(query);
      const extra = [...sent.headers.keys()].filter((name) => !STANDARD_HEADERS.includes(name));
      expect(Object.keys(row.headers ?? {})).toEqual(expect.arrayContaining(extra));
    },
  );

  test.each(ROUTES.filter(({ body }) => body !== undefined).map((row) => [row.name, row] as const))(
    'sends a body with %s that its route takes',
    async (_, { body, ...row }) => {
      const { sent } = await request({ ...row, ...(body === undefined ? {} : { body }) });
      expect(sent.headers.get('content-type')).toBe(body?.type);
      if (body?.type !== 'application/json')
        return expect((await sent.arrayBuffer()).byteLength).toBeGreaterThan(0);
      const value: unknown = await sent.json();
      expect(body.schema.parse(value)).toEqual(value);
    },
  );

  test.each(ROUTES.filter(({ body }) => body === undefined).map((row) => [row.name, row] as const))(
    'sends no body with %s',
    async (_, row) => {
      const { sent } = await request(row);
      expect(sent.body).toBeNull();
      expect(sent.headers.has('content-type')).toBe(false);
    },
  );
});
