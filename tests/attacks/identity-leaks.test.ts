import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { makeAuthenticator } from '../../packages/gateway/src/identity/authenticate.ts';
import { mintToken, withdrawToken } from '../../packages/gateway/src/invoke/tokens.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../packages/gateway/src/open.ts';
import { runInside } from '../../packages/gateway/test/doors/cli/fake-edge.ts';
import { ADA, GRACE, openTestGateway } from '../../packages/gateway/test/fixture/gateway.ts';
import { tempDir } from '../../packages/gateway/test/fixture/temp-dir.ts';
import { openDoor, startIssuer, verdictOf } from '../../packages/gateway/test/identity/issuer.ts';

/* Somebody reads every file of the state directory, the log and all that is printed, and looks for a token. */

/** The secret of a token, and the token as a whole, in the spellings in which they could have been written down. */
function spellings(token: string): readonly Buffer[] {
  const secret = token.slice(30);
  const bytes = Buffer.from(secret, 'base64url');
  const texts = [secret, secret.slice(0, 20), secret.slice(-20), token.slice(0, 36)];
  return [
    bytes,
    ...texts.map((text) => Buffer.from(text)),
    Buffer.from(bytes.toString('hex')),
    Buffer.from(bytes.toString('hex').toUpperCase()),
    Buffer.from(bytes.toString('base64').slice(0, 42)),
    Buffer.from(Buffer.from(token).toString('base64').slice(0, 60)),
    Buffer.from(Buffer.from(token).toString('hex')),
    Buffer.from(token, 'utf16le'),
  ];
}

function has(content: Buffer, token: string): boolean {
  return spellings(token).some((each) => content.includes(each));
}

/** Every file below a directory for which this is true. */
function filesWhere(directory: string, isMeant: (content: Buffer) => boolean): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(directory, name);
    return statSync(path).isFile() && isMeant(readFileSync(path));
  });
}

describe('a token', () => {
  test('is in no file, no record and nothing that is printed but the one answer that gave it', async () => {
    const state = tempDir();
    const printed: string[] = [];
    const edge = { clock: systemClock, random: systemRandom, openRecords, openGateway };
    const run = async (...words: string[]) => {
      const { status, out, err } = await runInside([...words, '--state', state], edge);
      printed.push(out, err);
      return { status, out };
    };
    const { out } = await run('token', 'create', '--principal', 'agent:ada', '--label', 'a label to find');
    const token = out.trim();
    // The search finds a token where there is one.
    expect(has(Buffer.from(printed.join('')), token)).toBe(true);
    printed.length = 0;
    const gateway = await openTestGateway({ stateDir: state, clock: systemClock });
    const log: string[] = [];
    const authenticate = makeAuthenticator({
      ...{ reader: gateway.store, config: gateway.config, clock: systemClock },
      log: (...words) => void log.push(JSON.stringify(words)),
    });
    const answers = [];
    for (const text of [token, `${token}x`, token.slice(0, -1), `${token.slice(0, -43)}${'A'.repeat(43)}`])
      answers.push(await authenticate({ authorization: `Bearer ${text}` }));
    answers.push(await authenticate({ authorization: `Basic ${token}` }));
    expect(answers.map(verdictOf)).toEqual(['ok', 'invalid', 'invalid', 'invalid', 'invalid']);
    const id = `tok_${token.slice(4, 29)}`;
    expect(filesWhere(state, (content) => has(content, token))).toEqual([]);
    await gateway.close();
    for (const words of [
      ['token', 'list'],
      ['token', 'list', '--json'],
      ['token', 'revoke', token],
      ['token', 'create', '--principal', 'agent:ada', '--label', token],
      ['token', 'revoke', id],
      ['journal', 'export'],
      ['journal', 'search', '--kind', 'token-created', '--json'],
    ])
      await run(...words);
    expect(filesWhere(state, (content) => has(content, token))).toEqual([]);
    const reported = Buffer.from([...printed, ...log, JSON.stringify(answers)].join('\n'));
    expect(has(reported, token)).toBe(false);
    // The same files and words have what is no secret.
    expect(filesWhere(state, (content) => content.includes(id))).not.toEqual([]);
    expect(filesWhere(state, (content) => content.includes('a label to find'))).not.toEqual([]);
    expect([
      reported.includes(id),
      reported.includes('token-created'),
      reported.includes('token-revoked'),
    ]).toEqual([...[true, true, true]]);
    expect(log.length).toBe(4);
  }, 60_000);

  test('is not in the log of the database before it is carried over, either', async () => {
    const gateway = await openTestGateway();
    const { token, about } = await mintToken(gateway, GRACE, {
      ...{ principal: ADA, tenant: 'default', scopes: ['call'], label: '' },
      ...{ expiresAtMs: gateway.clock.nowMs() + 1_000, held: new Set(ALL_SCOPES) },
    });
    await withdrawToken(gateway, GRACE, { id: about.id, tenant: null });
    expect(filesWhere(gateway.stateDir, (content) => has(content, token))).toEqual([]);
    expect(filesWhere(gateway.stateDir, (content) => content.includes(about.id))).toContain(
      'palisade.db-wal',
    );
  });

  test('of the issuer is not in the log or in an answer, whatever is wrong with it', async () => {
    const issuer = await startIssuer();
    const reported: string[] = [];
    const enter = openDoor(issuer, { log: (...words) => void reported.push(JSON.stringify(words)) });
    const marked = { sub: 'ada', jti: 'a-mark-in-the-claims' };
    const tokens = [
      await issuer.sign({ ...marked, aud: 'a-mark-in-the-audience' }),
      await issuer.sign({ ...marked, iss: 'https://a-mark-in-the-issuer.example.com' }),
      await issuer.sign(marked, { kid: 'a-mark-in-the-header' }),
      await issuer.sign({ ...marked, sub: 'a mark in the subject' }),
      `${await issuer.sign(marked)}.a-mark-behind`,
    ];
    for (const token of tokens) reported.push(JSON.stringify(await enter(token)));
    expect(reported.filter((line) => /a.mark/.test(line))).toEqual([]);
    expect(reported.filter((line) => tokens.some((token) => line.includes(token.slice(0, 20))))).toEqual([]);
    expect(reported.filter((line) => line.includes('credential-refused'))).toHaveLength(tokens.length);
  });

  test('is not sent to the issuer or to anybody else', async () => {
    const issuer = await startIssuer();
    const seen: string[] = [];
    for (const path of ['/jwks', '/.well-known/oauth-authorization-server']) {
      const page = String(issuer.pages.get(path));
      issuer.pages.set(path, (request, response) => {
        seen.push(JSON.stringify([request.method, request.url, request.rawHeaders]));
        response.writeHead(200).end(page);
      });
    }
    const token = await issuer.sign();
    expect(verdictOf(await openDoor(issuer)(token))).toBe('ok');
    expect(seen).toHaveLength(2);
    expect(seen.filter((line) => /authorization"|cookie|bearer/i.test(line) || line.includes(token))).toEqual(
      [],
    );
  });
});
