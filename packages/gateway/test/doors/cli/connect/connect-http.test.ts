import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../../src/config/environment.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { tokenIn } from '../../../../src/doors/cli/connect/entry.ts';
import { serverNamed } from '../../../../src/doors/cli/connect/servers.ts';
import { listTokens, type Verified, verifyToken } from '../../../../src/identity/tokens.ts';
import { openGateway, systemClock } from '../../../../src/open.ts';
import { clientOf } from './samples.ts';
import { backupsOf, besides, makeScratchHome, NOON, type ScratchHome, textOf } from './scratch-home.ts';

const FILE = '.cursor/mcp.json';
const OWN = '{\n  "mcpServers": {}\n}\n';
const DAY_MS = 86_400_000;

/** The token that is in a file now. */
function tokenOf(path: string, id = 'cursor'): string {
  const client = clientOf(id);
  const server = serverNamed({ client, name: path, text: textOf(path) }, 'palisade');
  return tokenIn(client, server?.value) ?? 'there is none';
}

async function inGateway<T>(
  { state }: ScratchHome,
  look: (gateway: Awaited<ReturnType<typeof openGateway>>) => T,
): Promise<T> {
  const clock = { ...systemClock, nowMs: () => NOON };
  const gateway = await openGateway({
    stateDir: state,
    env: readEnvironment({}, null),
    version: '0.0.0',
    clock,
  });
  try {
    return look(gateway);
  } finally {
    await gateway.close();
  }
}

function verified(scratch: ScratchHome, token: string, nowMs = NOON): Promise<Verified> {
  return inGateway(scratch, ({ store }) => verifyToken(store, token, nowMs));
}

describe('palisade connect --http', () => {
  test.each(CLIENTS.filter(({ http }) => http !== null).map(({ id }) => [id]))(
    'gives %s the address and a token that opens the gateway as its agent, in a file for its owner alone',
    async (id) => {
      const scratch = makeScratchHome();
      const { file } = (await scratch.json(['connect', id, '--http'])) as { file: string };
      expect(textOf(file)).toContain('http://127.0.0.1:7433/mcp');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(await verified(scratch, tokenOf(file, id))).toMatchObject({
        ok: true,
        token: { principal: { kind: 'agent', name: id }, scopes: ['call'], expiresAtMs: NOON + 90 * DAY_MS },
      });
    },
  );

  test('makes a file that others could read private, and says so without the token', async () => {
    const scratch = makeScratchHome();
    const path = scratch.write(FILE, OWN);
    chmodSync(path, 0o644);
    const { out, err } = await scratch.run(['connect', 'cursor', '--http']);
    expect(err).toContain('so only you can read it (mode 600)');
    expect(out).toMatch(/made the token tok_\S+, valid until 2026-07-30T12:00:00/);
    expect(out + err).not.toContain(tokenOf(path));
    expect(JSON.stringify(await scratch.json(['disconnect', 'cursor']))).not.toContain('pls_0');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('keeps a token that is good, and makes another in the place of one that is not', async () => {
    const scratch = makeScratchHome();
    const path = scratch.write(FILE, OWN);
    await scratch.run(['connect', 'cursor', '--http']);
    const first = tokenOf(path);
    expect(await scratch.json(['connect', 'cursor', '--http'])).toMatchObject({
      status: 'already connected',
      token: null,
    });
    expect(tokenOf(path)).toBe(first);
    const clock = { ...systemClock, nowMs: () => NOON + 91 * DAY_MS };
    const later = {
      clock,
      openGateway: (options: Parameters<typeof openGateway>[0]) => openGateway({ ...options, clock }),
    };
    const { out } = await scratch.run(['connect', 'cursor', '--http'], later);
    expect(out).toContain('updated');
    expect(tokenOf(path)).not.toBe(first);
    expect(await verified(scratch, tokenOf(path), NOON + 92 * DAY_MS)).toMatchObject({ ok: true });
  });

  test('makes no token for a trial, and none that no file would have', async () => {
    const scratch = makeScratchHome();
    const path = scratch.write(FILE, OWN);
    expect((await scratch.run(['connect', 'cursor', '--http', '--dry-run'])).out).toContain(
      'Bearer pls_TOKEN',
    );
    writeFileSync(path, '{"mcpServers": {"palisade": {"command": "another"}}}');
    expect((await scratch.run(['connect', 'cursor', '--http'])).status).toBe(64);
    const tokens = await inGateway(scratch, ({ store }) => listTokens(store, { after: null, limit: 10 }));
    expect(tokens).toEqual([]);
    expect(besides(path)).toEqual([]);
  });

  test('revokes the token of an entry that becomes a command', async () => {
    const scratch = makeScratchHome();
    const path = scratch.write(FILE, OWN);
    await scratch.run(['connect', 'cursor', '--http']);
    const token = tokenOf(path);
    const { err } = await scratch.run(['connect', 'cursor']);
    expect(err).toMatch(/The token tok_\S+ of the old entry was revoked\./);
    expect(await verified(scratch, token)).toEqual({ ok: false, reason: 'revoked' });
    await scratch.run(['disconnect', 'cursor']);
    expect(textOf(path)).toBe(OWN);
  });

  test('takes the address from palisade.toml', async () => {
    const scratch = makeScratchHome();
    await scratch.run(['journal', 'tail']);
    writeFileSync(join(scratch.state, 'palisade.toml'), '[http]\npublic_url = "https://gate.example.com"\n');
    await scratch.run(['connect', 'kiro', '--http']);
    const text = textOf(join(scratch.home, '.kiro/settings/mcp.json'));
    expect(text).toContain('"url": "https://gate.example.com/mcp"');
  });

  test('is undone by disconnect: the entry is gone and the token is revoked', async () => {
    const scratch = makeScratchHome();
    const path = scratch.write(FILE, OWN);
    await scratch.run(['connect', 'cursor', '--http']);
    const token = tokenOf(path);
    expect(await verified(scratch, token)).toMatchObject({ ok: true });
    expect((await scratch.run(['disconnect', 'cursor'])).out).toMatch(/revoked the token tok_/);
    expect(textOf(path)).toBe(OWN);
    expect(await verified(scratch, token)).toEqual({ ok: false, reason: 'revoked' });
    expect(backupsOf(path).map((name) => textOf(join(path, '..', name)))).toEqual([OWN]);
  });
});
