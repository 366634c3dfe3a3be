import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { settingsOf } from '../../src/runner/settings-of.ts';
import { makeHost } from './sample.ts';

describe('settingsOf()', () => {
  it('follows the links of roots and read-only paths when it is called, and keeps where they led', async () => {
    const { root, workspace, outside } = makeHost();
    const alias = join(root, 'alias');
    symlinkSync(workspace, alias);
    const stateDir = join(root, 'of-settings');
    mkdirSync(stateDir, { mode: 0o700 });
    const toml = `[process]\nworkspaces = ["${alias}"]\nread_only = ["${alias}/library"]\n`;
    writeFileSync(join(stateDir, 'palisade.toml'), toml, { mode: 0o600 });
    const settings = settingsOf(await loadConfig({ stateDir }), null);
    rmSync(alias);
    symlinkSync(outside, alias);
    expect(settings).toMatchObject({
      workspaceRoots: [workspace],
      readOnly: [join(workspace, 'library')],
    });
  });
});
