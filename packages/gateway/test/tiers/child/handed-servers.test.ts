import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HandedServers, handedServer } from '../../../src/tiers/child/handed-servers.ts';

async function listening(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return server;
}

describe('the listeners of a run', () => {
  it('are there once all have come, in their order and not in that of their coming', async () => {
    const [first, second] = [await listening(), await listening()];
    const handed = new HandedServers(2);
    handed.take(1, second);
    handed.take(0, first);
    expect(await handed.all).toEqual([first, second]);
  });

  it('are none where none was asked for', async () => {
    expect(await new HandedServers(0).all).toEqual([]);
  });

  it('are given up with the run, those that come later as well', async () => {
    const [first, late] = [await listening(), await listening()];
    const handed = new HandedServers(2);
    handed.take(0, first);
    handed.close();
    handed.take(1, late);
    expect(await handed.all).toBeNull();
    expect([first.listening, late.listening]).toEqual([false, false]);
  });

  it('are closed where their number was not asked for, or has come before', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, listening));
    const handed = new HandedServers(1);
    for (const [at, index] of [0, 0, 1, -1].entries()) handed.take(index, servers[at] as Server);
    expect(servers.map((server) => server.listening)).toEqual([true, false, false, false]);
    expect(await handed.all).toEqual([servers[0]]);
  });
});

describe('handedServer()', () => {
  it('reads a message with its listener', async () => {
    const server = await listening();
    expect(handedServer({ run: 3, index: 0 }, server)).toEqual({ run: 3, index: 0, server });
  });

  it.each([
    [null],
    ['run'],
    [{}],
    [{ run: '3', index: 0 }],
    [{ run: 3 }],
    [{ run: 1.5, index: 0 }],
    [{ run: 3, index: Number.NaN }],
  ])('takes %j for none', async (message) => {
    expect(handedServer(message, await listening())).toBeNull();
  });

  it('takes a message without a listener for none', () => {
    expect(handedServer({ run: 3, index: 0 }, undefined)).toBeNull();
    expect(handedServer({ run: 3, index: 0 }, {})).toBeNull();
  });
});
