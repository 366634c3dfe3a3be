import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf } from '../fixtures/commands/probe.ts';

/* A command leaves the dead unburied. Orphans are waited for at once, so that they do not use up the run's processes. */

const probe = proberOf(sharedGateway());

/** Makes orphans one after the other, or children that nobody waits for, and counts how many it got. */
function flood(isOrphaned: boolean): string {
  const child = isOrphaned ? 'os.fork(); os._exit(0)' : 'os._exit(0)';
  return `
import json, os, time
made = tries = 0
while made < 500 and tries < 1000:
    tries += 1
    try: pid = os.fork()
    except OSError: time.sleep(0.005); continue
    if pid == 0:
        try:
            ${child}
        except OSError: os._exit(7)
    ${isOrphaned ? 'made += os.waitpid(pid, 0)[1] == 0' : 'made += 1'}
print(json.dumps({'made': made}))
`;
}

test('five hundred orphans fit one after the other into sixteen processes', async () => {
  const end = await probe(flood(true), { limits: { processes: 16 } });
  expect(end).toMatchObject({ code: 'ok' });
  expect(printedBy(end)).toEqual({ made: 500 });
});

test('the dead that their own parent keeps use up its processes, and are gone with it', async () => {
  const end = await probe(flood(false), { limits: { processes: 16, wall_ms: 30_000 } });
  expect(printedBy(end)).toEqual({ made: 15 });
  expect(end.output).toMatchObject({ processesKilledAtEnd: 0 });
});
