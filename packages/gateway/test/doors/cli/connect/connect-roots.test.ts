import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeScratchHome, textOf } from './scratch-home.ts';

/* The directories that an entry grants its client, so that one that starts palisade anywhere has somewhere to work. */

const FILE = '.cursor/mcp.json';

/** What follows `mcp` in the entry. */
function rootsIn(text: string): readonly string[] {
  const { args } = JSON.parse(text).mcpServers.palisade as { args: string[] };
  return args.filter((_, index) => args[index - 1] === '--workspace');
}

describe('palisade connect and the workspaces of a client', () => {
  test('writes every directory of --workspace, with its whole path', async () => {
    const { run, home, project } = makeScratchHome();
    mkdirSync(join(home, 'site'));
    const { status } = await run(['connect', 'cursor', '--workspace', '.', '--workspace', '../home/site']);
    expect(status).toBe(0);
    expect(rootsIn(textOf(join(home, FILE)))).toEqual([project, join(home, 'site')]);
  });

  test('keeps them when it is run again without the flag, and replaces them with it', async () => {
    const { run, json, home, project } = makeScratchHome();
    await run(['connect', 'cursor', '--workspace', project]);
    expect(await json(['connect', 'cursor'])).toMatchObject({ status: 'already connected' });
    expect(await json(['connect', 'cursor', '--workspace', join(home, 'site')])).toMatchObject({
      status: 'updated',
    });
    expect(rootsIn(textOf(join(home, FILE)))).toEqual([join(home, 'site')]);
  });

  test('writes the device and the channel of the operator, and keeps them without the flags', async () => {
    const { run, json, home } = makeScratchHome();
    const placed = () => {
      const { args } = JSON.parse(textOf(join(home, FILE))).mcpServers.palisade as { args: string[] };
      return args.filter(
        (each, i) => /^--(device|channel)$/.test(each) || /^--(d|c)/.test(args[i - 1] ?? ''),
      );
    };
    await run(['connect', 'cursor', '--device', 'desk', '--channel', 'editor']);
    expect(placed()).toEqual(['--device', 'desk', '--channel', 'editor']);
    expect(await json(['connect', 'cursor'])).toMatchObject({ status: 'already connected' });
    expect(await json(['connect', 'cursor', '--device', 'lap'])).toMatchObject({ status: 'updated' });
    expect(placed()).toEqual(['--device', 'lap', '--channel', 'editor']);
    expect((await run(['connect', 'cursor', '--channel', 'http'])).err).toContain('not the name of a door');
  });

  test('grants the file of a project that project, and no other file anything', async () => {
    const { run, home, project } = makeScratchHome();
    await run(['connect', 'cursor', '--project']);
    expect(rootsIn(textOf(join(project, FILE)))).toEqual([project]);
    await run(['connect', 'cursor']);
    expect(rootsIn(textOf(join(home, FILE)))).toEqual([]);
  });

  test('grants no forbidden directory as that of a project', async () => {
    const { run, home } = makeScratchHome();
    expect((await run(['connect', 'cursor', '--project'], { cwd: home })).status).toBe(0);
    expect(rootsIn(textOf(join(home, FILE)))).toEqual([]);
  });

  test('passes those of init on to every client', async () => {
    const { run, home, project } = makeScratchHome();
    await run(['init', '--client', 'cursor', '--workspace', project]);
    expect(rootsIn(textOf(join(home, FILE)))).toEqual([project]);
  });
});
