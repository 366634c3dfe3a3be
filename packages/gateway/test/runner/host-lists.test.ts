import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { allowListOf, LiveHosts } from '../../src/runner/host-lists.ts';
import { tempDir } from '../fixture/temp-dir.ts';

function open(first: readonly string[]) {
  const path = join(tempDir(), 'palisade.toml');
  const write = (text: string) => writeFileSync(path, text);
  const text = `[process]\negress_hosts = ${JSON.stringify(first)}\n`;
  write(text);
  const hosts = new LiveHosts({ path, text, list: allowListOf(first) });
  return { hosts, path, write, entries: () => hosts.list.entries };
}

describe('the operator’s list of this moment', () => {
  it('is the same object for as long as the file is the same', () => {
    const { hosts } = open(['a.test']);
    expect(hosts.list).toBe(hosts.list);
    expect(hosts.list.entries).toEqual(['a.test']);
  });

  it('is that of the changed file', async () => {
    const { write, entries } = open(['a.test', 'b.test']);
    write('[process]\negress_hosts = ["b.test"]\n');
    await vi.waitFor(() => expect(entries()).toEqual(['b.test']));
  });

  it.each([
    ['no TOML', '[process\n'],
    ['a key that nobody knows', '[process]\negress_hoists = ["a.test"]\n'],
    ['an entry that cannot be read', '[process]\negress_hosts = ["*"]\n'],
    ['a list that is none', '[process]\negress_hosts = "a.test"\n'],
  ])('allows nothing while the file has %s, and something again once it is mended', async (_name, broken) => {
    const { write, entries } = open(['a.test']);
    write(broken);
    await vi.waitFor(() => expect(entries()).toEqual([]));
    write('[process]\negress_hosts = ["c.test"]\n');
    await vi.waitFor(() => expect(entries()).toEqual(['c.test']));
  });

  it('allows nothing without the file that it was read from', async () => {
    const { path, entries, write } = open(['a.test']);
    rmSync(path);
    await vi.waitFor(() => expect(entries()).toEqual([]));
    write('[process]\negress_hosts = ["c.test"]\n');
    await vi.waitFor(() => expect(entries()).toEqual(['c.test']));
  });

  it('is that of the text that was read, though the file was another one for a moment', async () => {
    const { hosts, write } = open(['a.test']);
    write('[process]\negress_hosts = ["b.test"]\n');
    const reading = hosts.refresh();
    write('[process]\negress_hosts = ["c.test"]\n');
    await reading;
    expect(hosts.list.entries).toEqual(['b.test']);
    await hosts.refresh();
    expect(hosts.list.entries).toEqual(['c.test']);
  });
});
