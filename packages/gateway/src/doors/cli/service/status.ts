import { readDaemon } from '../../../store/daemon-facts.ts';
import type { FactRow } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { managerOf } from './manager.ts';
import { type FoundFile, look, placeOfService, type ServicePlace } from './place.ts';
import { about, pathsOf } from './service.ts';
import { SERVICE, SOCKET, SYSTEM_STATE } from './units.ts';

/* `palisade service status`: what is installed, what its manager says, and which daemon serves the state directory. */

/** As systemctl: 0 where it is active, 3 where it is not, 4 where it is not installed. */
const STATUS = { active: 0, inactive: 3, absent: 4 } as const;

export async function status(invocation: Invocation): Promise<number> {
  const { print, stateDir, edge } = invocation;
  const place = placeOfService(invocation);
  const files = pathsOf(place).map(look);
  const isInstalled = files.some(({ state }) => state !== 'missing');
  const units = isInstalled ? await unitsOf(invocation, place) : null;
  const state = place.scope === 'system' ? SYSTEM_STATE : stateDir.path;
  const daemon = readDaemon(state);
  const isAlive = daemon !== null && isRunning(daemon.pid);
  const serving = isAlive ? daemon : null;
  const isActive =
    units?.some(({ active }) => active === 'active') === true || (isInstalled && serving !== null);
  const found = isInstalled ? (isActive ? 'active' : 'inactive') : 'absent';
  const document = { ...about(place), state: found, files, units, daemon: serving };
  print.result(document, () => {
    print.facts([...fileRows(files), ...(units ?? []).map(unitRow)], 12);
    if (units === null && isInstalled) print.line(`${place.manager} does not run here.`);
    // Another user's state directory is not read; what systemd says of the service is above.
    if (serving === null) {
      if (!isActive) print.line(`No daemon serves ${state}.`);
    } else {
      print.facts([['daemon', `process ${serving.pid} at ${serving.url}, palisade ${serving.version}`]], 12);
      if (serving.version !== edge.version)
        print.note('!', 'yellow', ` this is palisade ${edge.version}; restart the service to serve with it`);
    }
    if (!isInstalled) print.next('palisade service install');
  });
  return STATUS[found];
}

type UnitState = { readonly unit: string; readonly active: string; readonly detail: string };

/** What systemd says of the two units; null where it does not run. */
async function unitsOf(
  { edge }: Invocation,
  { manager, scope, root }: ServicePlace,
): Promise<readonly UnitState[] | null> {
  const runtimeDir = edge.env.entries().find(([name]) => name === 'XDG_RUNTIME_DIR')?.[1] ?? null;
  const { isRunning, ask } = managerOf(manager, scope, runtimeDir);
  if (manager !== 'systemd' || !isRunning || root !== null) return null;
  const ctl = scope === 'user' ? ['systemctl', '--user'] : ['systemctl'];
  const properties = '--property=Id,ActiveState,SubState,StatusText,UnitFileState';
  return Promise.all(
    [SOCKET, SERVICE].map(async (unit) => {
      const { output } = await ask([...ctl, 'show', properties, unit]);
      const propertyOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(output)?.[1] ?? '';
      const detail = ['SubState', 'UnitFileState', 'StatusText']
        .map(propertyOf)
        .filter((text) => text !== '');
      return { unit, active: propertyOf('ActiveState') || 'unknown', detail: detail.join(', ') };
    }),
  );
}

function unitRow({ unit, active, detail }: UnitState): FactRow {
  return [unit.replace('palisade.', ''), `${active} (${detail})`];
}

const MEANINGS = {
  missing: 'missing',
  ours: 'as palisade made it',
  edited: 'edited since palisade made it',
  other: 'not made by palisade',
} as const;

function fileRows(files: readonly FoundFile[]): readonly FactRow[] {
  return files.map(({ path, state }) => ['file', `${path}: ${MEANINGS[state]}`]);
}

/** Whether a process of that number exists; `daemon.json` of a crashed daemon names one that does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
