import { describe, expect, test, vi } from 'vitest';
import { receiptOf } from '../../packages/gateway/src/invoke/finish.ts';
import { openUpstream, type UpstreamGateway } from '../fixtures/upstreams/index.ts';

/** The server answers the next call, whatever it did before. */
async function expectToRecover(up: UpstreamGateway): Promise<void> {
  expect(await up.call('files.echo', { message: 'still here' })).toMatchObject({
    code: 'ok',
    text: 'still here',
  });
}

describe('an upstream server that misbehaves', () => {
  test('by hanging is given up when the time of the call is over', async () => {
    const up = await openUpstream();
    await up.call('files.echo', {});
    expect(await up.call('files.hangs', {}, { timeoutMs: 300 })).toMatchObject({ code: 'tier/timed-out' });
    await expectToRecover(up);
  });

  test('by not listening any more is ended, and the next call has a new process', async () => {
    const up = await openUpstream();
    await up.call('files.echo', {});
    const deaf = await up.call('files.deaf', {}, { timeoutMs: 300 });
    expect(deaf.code).toBe('tier/timed-out');
    const session = String(deaf.execution?.isolation.session);
    await vi.waitFor(() => expect(receiptOf(up.gateway, session)).not.toBeNull(), { timeout: 20_000 });
    await expectToRecover(up);
  });

  test.each([
    ['dying in the middle of a call', 'files.dies', /exited with status 3; it printed "fatal: out of luck"/],
    ['writing what is no JSON', 'files.garbage', /not strict JSON/],
    ['writing what nobody asked for', 'files.floods', /messages that answer nothing/],
    ['writing a line without an end', 'files.endless', /a message of more than/],
    ['answering without content', 'files.contentless', /without content/],
  ])('by %s fails that call, and the next one goes well', async (_, tool, message) => {
    const up = await openUpstream();
    expect(await up.call(tool)).toMatchObject({
      code: 'tier/upstream-failed',
      message: expect.stringMatching(message),
    });
    await expectToRecover(up);
  });

  test('by asking for input where no one can be asked fails that call, and the next one goes well', async () => {
    const up = await openUpstream();
    expect(await up.call('files.wantsinput')).toMatchObject({
      code: 'tier/tool-error',
      message: expect.stringContaining('-32021: The server asked its client for elicitation'),
    });
    await expectToRecover(up);
  });

  test('by saying nothing at all is told from one that is there', async () => {
    const up = await openUpstream({ rule: { env: ['SILENT=yes'] } });
    const refused = await up.call('files.echo', {}, { timeoutMs: 500 });
    expect(refused.code).toBe('registry/unknown-tool');
  }, 60_000);

  test('by answering other questions cannot forge an answer', async () => {
    const up = await openUpstream();
    // It answers the question after this one, the one before, and some that nobody will ask.
    const first = await up.call('files.otherids', { message: 'mine' });
    const second = await up.call('files.echo', { message: 'yours' });
    expect([first.text, second.text]).toEqual(['mine', 'yours']);
  });

  test('by asking us for models, files and people gets errors', async () => {
    const up = await openUpstream();
    expect((await up.call('files.asksback')).text).toBe(
      'own-elicitation/create:-32601 own-ping:ok own-roots/list:-32601 own-sampling/createMessage:-32601',
    );
  });

  test('by greeting on standard output is understood all the same', async () => {
    const up = await openUpstream();
    expect((await up.call('files.greets', { message: 'hello' })).text).toBe('hello');
  });

  test('by giving too much has its result cut, and told so', async () => {
    const up = await openUpstream();
    const cut = await up.call('files.big', { bytes: 3_000_000 });
    expect(cut).toMatchObject({ code: 'tier/output-exceeded' });
    expect(cut.text.length).toBeLessThan(1_100_000);
    expect(cut.usage.outputBytes).toBeLessThanOrEqual(1_048_576);
    expect((await up.call('files.big', { bytes: 900_000 })).text).toHaveLength(900_000);
  });

  test('by giving kinds of content that nobody knows has them left out', async () => {
    const up = await openUpstream();
    const { output } = await up.call('files.odd');
    expect(output).toEqual({ content: [{ type: 'text', text: 'ok' }] });
  });

  test('by talking for long fills no quota', async () => {
    const up = await openUpstream({ toml: '[ceilings]\noutput_bytes = 4194304\n' });
    const pid = (await up.call('files.pid')).text;
    for (let i = 0; i < 8; i++) expect((await up.call('files.big', { bytes: 1_000_000 })).code).toBe('ok');
    expect((await up.call('files.pid')).text).toBe(pid);
  });
});
