import { setTimeout as sleep } from 'node:timers/promises';
import {
  type KeyRing,
  linesOf,
  PalisadeClient,
  PalisadeError,
  parseKeyRing,
  verifyCall,
  verifyJournal,
} from '../../src/index.ts';

/* The examples of docs/sdk.md, so that the compiler reads them too. A test holds the page to this file. */

export async function begin(token: string) {
  const client = new PalisadeClient({ url: 'http://127.0.0.1:7433', token });

  const call = await client.calls.run({ tool: 'palisade.echo', input: { text: 'hello' } });
  console.log(call.output, call.callId);
}

export async function follow(client: PalisadeClient, signal: AbortSignal) {
  const input = { command: 'npm', args: ['test'] };
  for await (const event of client.calls.stream({ tool: 'palisade.process.run', input }, { signal })) {
    if (event.kind === 'output') process.stdout.write(event.bytes);
    if (event.kind === 'ended') console.log(event.call.usage.wallMs);
  }
}

export async function repeatLater(client: PalisadeClient, order: string) {
  const input = { order };
  await client.calls.run({ tool: 'acme.shop.ship', input }, { idempotencyKey: `ship-${order}` });
}

export async function fail(client: PalisadeClient) {
  try {
    await client.calls.run({ tool: 'acme.shop.refund', input: { order: '17' } });
  } catch (error) {
    if (!(error instanceof PalisadeError)) throw error;
    if (error.code === 'policy/approval-required') console.log('waits for', error.approval?.id);
    else console.error(error.code, error.message, error.remedy);
  }
}

export async function approve(client: PalisadeClient) {
  for await (const request of client.approvals.all({ state: 'pending' })) {
    console.log(request.principal, request.tool, request.inputText);
    if (request.risk === 'low') await client.approvals.approve(request.id, { note: 'low risk' });
  }
}

export async function list(client: PalisadeClient) {
  const page = await client.tools.list({ limit: 50 });
  console.log(page.tools.length, page.cursor);

  for await (const tool of client.tools.all()) console.log(tool.id, tool.risk);
}

export async function verify(client: PalisadeClient, keyFile: string) {
  const ring = await parseKeyRing(keyFile);
  if (!ring.ok) throw new Error(ring.why);

  const input = { text: 'hello' };
  const call = await client.calls.run({ tool: 'palisade.echo', input });
  const report = await verifyCall({ ...call, input }, ring.keys);
  console.log(report.ok, report.statement?.predicate.execution?.tier);
}

export async function audit(client: PalisadeClient, keys: KeyRing) {
  const report = await verifyJournal(linesOf(client.journal.export()), keys);
  console.log(report.ok, report.records);

  for await (const record of client.journal.live()) console.log(record.seq, record.kind, record.tool);
}

export async function change(client: PalisadeClient) {
  const { files, filesDigest } = await client.policies.get();
  const next = { ...files, 'night.cedar': 'forbid(principal, action == Action::"call", resource);' };
  const { ok, problems } = await client.policies.check({ files: next });
  if (ok) await client.policies.replace({ files: next, ifDigest: filesDigest });
  else console.log(problems[0]?.message);
}

export async function install(client: PalisadeClient, bytes: Uint8Array) {
  const { skill, difference } = await client.skills.install(bytes);
  console.log(skill.state, skill.report?.findings.length, difference?.widens);
  await client.skills.approve(skill.id, { version: skill.version, reason: 'read and understood' });
}

export function tryOut() {
  const client = new PalisadeClient({
    url: 'https://gateway.example/palisade',
    token: async () => 'a token that was just fetched',
    fetch: async (url, init) => globalThis.fetch(url, init),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    wait: async (ms) => sleep(ms / 10),
    retries: 5,
    timeoutMs: 30_000,
  });
  return client;
}
