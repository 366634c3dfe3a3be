import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test, vi } from 'vitest';
import { receiptOf } from '../../packages/gateway/src/invoke/finish.ts';
import { approveUpstream, showUpstream } from '../../packages/gateway/src/invoke/upstreams.ts';
import { visibleTools } from '../../packages/gateway/src/invoke/visible-tools.ts';
import { ringOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { ADA, definition, GRACE, openUpstream, PERMIT_UPSTREAMS } from '../fixtures/upstreams/index.ts';

describe('an upstream server', () => {
  test('is started by the first call of one of its tools, and its session has a receipt of its own', async () => {
    const up = await openUpstream();
    const first = await up.call('files.echo', { message: 'hello' });
    expect(first).toMatchObject({
      code: 'ok',
      output: { content: [{ type: 'text', text: 'hello' }], structuredContent: { message: 'hello' } },
      execution: { tier: 'c', executor: 'mcp-upstream', isolation: { upstream: 'files' } },
    });
    const second = await up.call('files.pid');
    expect(second.execution?.isolation.session).toBe(first.execution?.isolation.session);
    await up.gateway.upstreams.close();
    const envelope = receiptOf(up.gateway, String(first.execution?.isolation.session)) ?? '';
    expect((await verifyReceipt(envelope, await ringOf(up.gateway), {}, webPrimitives)).ok).toBe(true);
    const session = JSON.parse(Buffer.from(JSON.parse(envelope).payload, 'base64').toString()).predicate;
    expect(session).toMatchObject({
      tool: { id: 'palisade.upstream.files' },
      outcome: { status: 'ok' },
      execution: { tier: 'c', isolation: { boundary: 'bubblewrap', nnp: '1' } },
    });
  });

  test.each(['legacy', 'modern'])('is spoken to in the words of the %s era, page by page', async (era) => {
    const up = await openUpstream({ rule: { env: [`ERA=${era}`, 'PAGE=3'] } });
    expect(await up.call('files.echo', { message: 'hello' })).toMatchObject({ code: 'ok', text: 'hello' });
    expect(showUpstream(up.gateway, 'files').pin?.accepted.definitions.length).toBeGreaterThan(15);
  });

  test('runs in tier B where the operator says so', async () => {
    const up = await openUpstream({ rule: { tier: 'b' } });
    expect(await up.call('files.echo', { message: 'hello' })).toMatchObject({
      code: 'ok',
      execution: { tier: 'b' },
    });
  });

  test('has a process for each principal, and neither hears what the other said', async () => {
    const up = await openUpstream({ policies: PERMIT_UPSTREAMS });
    await up.call('files.remember', { message: 'a secret of ada' });
    expect((await up.call('files.remember', { message: 'x' }, { by: GRACE })).text).toBe('nobody');
    const elsewhere = await up.call('files.remember', {}, { tenant: 'other' });
    expect(elsewhere.text).toBe('nobody');
    expect((await up.call('files.remember')).text).toBe('a secret of ada');
  });

  test('is listed for whom the policies let call it, by the set that was accepted', async () => {
    const up = await openUpstream();
    await up.call('files.echo');
    const ids = (by: typeof ADA) => visibleTools(up.gateway, by, 'default').map(({ id }) => id);
    expect(ids(ADA)).toContain('files.echo');
    expect(ids(ADA)).not.toContain('palisade.upstream.files');
    expect(ids({ kind: 'service', name: 'ci' })).not.toContain('files.echo');
  });

  test('that was changed is in quarantine until a person accepts what was shown', async () => {
    const up = await openUpstream();
    up.offer([definition('echo')]);
    expect((await up.call('files.echo')).code).toBe('ok');
    up.offer([definition('echo'), definition('pid')]);
    await up.gateway.upstreams.reconnect('files', { principal: ADA, tenant: 'default' });
    expect(await up.call('files.echo')).toMatchObject({ code: 'upstream/quarantined' });
    const { pin, difference, state } = showUpstream(up.gateway, 'files');
    expect({ state, difference }).toMatchObject({ state: 'quarantined', difference: { added: ['pid'] } });
    const shown = pin?.offered?.digest ?? '';
    const accepting = { name: 'files', tenant: 'default', shown };
    await expect(approveUpstream(up.gateway, { ...accepting, principal: ADA })).rejects.toThrow(/agent:ada/);
    await expect(
      approveUpstream(up.gateway, { ...accepting, principal: GRACE, shown: 'another' }),
    ).rejects.toMatchObject({ code: 'upstream/quarantined' });
    await approveUpstream(up.gateway, { ...accepting, principal: GRACE });
    expect(up.records('upstream-accepted')).toEqual([expect.objectContaining({ definitions: shown })]);
    expect((await up.call('files.pid')).code).toBe('ok');
  });

  test('is found by another gateway of the same state as it was accepted, without being started', async () => {
    const up = await openUpstream();
    await up.call('files.echo');
    await up.gateway.close();
    const again = await openUpstream({ place: up });
    expect(again.gateway.registry.find('files.echo')?.tool.isMcpResult).toBe(true);
    expect((await again.call('files.echo', { message: 'again' })).text).toBe('again');
    expect(again.records('upstream-pinned')).toHaveLength(1);
  });

  test('whose command was changed is in quarantine before it is started', async () => {
    const up = await openUpstream();
    await up.call('files.echo');
    await up.gateway.close();
    const again = await openUpstream({ place: up, rule: { env: ['ERA=modern'] } });
    const refused = await again.call('files.echo');
    expect(refused).toMatchObject({
      code: 'upstream/quarantined',
      message: expect.stringMatching(/command is not the one/),
    });
    expect(again.records('intent')).toHaveLength(2);
  });
});

describe('the session of an upstream server', () => {
  test('does not outlive the policies that let it start', async () => {
    const up = await openUpstream({ toml: '[policy]\nreload_ms = 1\n' });
    expect((await up.call('files.echo')).code).toBe('ok');
    const forbid =
      'forbid (principal, action == Action::"call", resource == Tool::"palisade.upstream.files");';
    writeFileSync(join(up.stateDir, 'policies/40-test.cedar'), `@id("no-files") ${forbid}\n`);
    await vi.waitFor(
      async () =>
        expect(await up.call('files.echo')).toMatchObject({
          code: 'tier/upstream-failed',
          message: expect.stringContaining('"no-files" forbids it'),
        }),
      { timeout: 10_000, interval: 200 },
    );
  });
});

describe('a call of an upstream tool', () => {
  test('is refused, approved and paid for like any other', async () => {
    const budget = '[[budget]]\nname = "few"\nper = "tool"\nmatch = "files.*"\nwindow = "1h"\ncalls = 1\n';
    const up = await openUpstream({ rule: { risk: 'high' }, toml: budget });
    expect((await up.call('files.echo')).code).toBe('policy/approval-required');
    const low = await openUpstream({ toml: budget });
    expect((await low.call('files.echo')).code).toBe('ok');
    expect((await low.call('files.echo')).code).toBe('budget/calls-exhausted');
  });

  test('whose tool reports an error fails with what it said', async () => {
    const up = await openUpstream();
    expect(await up.call('files.fails')).toMatchObject({
      code: 'tier/tool-error',
      output: { content: [{ type: 'text', text: 'no such thing' }], isError: true },
    });
  });

  test('that is cancelled ends at once, and the server is told and goes on', async () => {
    const up = await openUpstream();
    const pid = (await up.call('files.pid')).text;
    const stop = new AbortController();
    const hanging = up.call('files.hangs', {}, { signal: stop.signal });
    setTimeout(() => stop.abort(), 200);
    expect((await hanging).code).toBe('tier/cancelled');
    expect((await up.call('files.cancelled')).text).toMatch(/^\d+$/);
    expect((await up.call('files.pid')).text).toBe(pid);
  });
});
