import { dirname, join } from 'node:path';
import { wrongUsage } from '../input.ts';
import { marked } from '../marks.ts';
import { type Directive, LIFE, type Scope, WALLS } from './directives.table.ts';

/*
 * From a wish to the files of a service, as data: nothing is read or written here.
 */

/** What the service starts, and with what. */
export type ServiceWish = {
  readonly scope: Scope;
  /** The command line of palisade, absolute. */
  readonly program: readonly string[];
  /** Null: this machine has none, so systemd is not told when the service is ready. */
  readonly launcher: string | null;
  readonly stateDir: string;
  readonly listen: string;
  readonly workspaces: readonly string[];
};

export type PlannedFile = { readonly path: string; readonly text: string; readonly mode: number };

export const SYSTEM_USER = 'palisade';
export const SYSTEM_STATE = '/var/lib/palisade';
export const SERVICE = 'palisade.service';
export const SOCKET = 'palisade.socket';
export const LAUNCHD_LABEL = 'dev.palisade.gateway';

/** Shown on top of the units. */
const EDIT = `# It is removed by \`palisade service uninstall\` as long as it is as it was made. To change it: systemctl edit ${SERVICE}
`;
const BY = { by: 'service install', open: '# ' };

/** The files of a service of systemd in its folder. */
export function systemdFiles(wish: ServiceWish, folder: string): readonly PlannedFile[] {
  const files = [
    { path: join(folder, SOCKET), text: marked(socketUnit(wish), BY), mode: 0o644 },
    { path: join(folder, SERVICE), text: marked(serviceUnit(wish), BY), mode: 0o644 },
  ];
  if (wish.scope === 'user') return files;
  const users = join(dirname(dirname(folder)), 'sysusers.d', 'palisade.conf');
  const user = `u ${SYSTEM_USER} - "Palisade gateway" ${SYSTEM_STATE}\n`;
  return [{ path: users, text: marked(user, BY), mode: 0o644 }, ...files];
}

function socketUnit({ listen }: ServiceWish): string {
  return `${EDIT}[Unit]
Description=Address of the Palisade gateway
Documentation=man:palisade(1)

[Socket]
ListenStream=${listen}
NoDelay=yes
Backlog=1024

[Install]
WantedBy=sockets.target
`;
}

function serviceUnit(wish: ServiceWish): string {
  const { scope, launcher } = wish;
  const rows = (table: readonly Directive[]) =>
    table
      .filter(({ scopes }) => scopes.includes(scope))
      .map(({ line, why }) => `# ${why}\n${line}\n`)
      .join('');
  const type = launcher === null ? 'exec' : 'notify';
  return `${EDIT}[Unit]
Description=Palisade, a gateway between AI agents and their tools
Documentation=man:palisade(1)
Requires=${SOCKET}
After=${SOCKET}${scope === 'system' ? ' network.target' : ''}

[Service]
Type=${type}
ExecStart=${commandLine(wish).map(quoted).join(' ')}
${placeOf(wish)}${rows(LIFE.filter(({ line }) => launcher !== null || !/^(NotifyAccess|WatchdogSec)/.test(line)))}
${rows(WALLS)}
[Install]
WantedBy=${scope === 'system' ? 'multi-user.target' : 'default.target'}
`;
}

function commandLine({ launcher, program, stateDir, workspaces }: ServiceWish): readonly string[] {
  const before = launcher === null ? [] : [launcher, 'mode=service', '--'];
  const named = workspaces.flatMap((path) => ['--workspace', path]);
  return [...before, ...program, 'serve', '--quiet', '--state', stateDir, ...named];
}

/** Where it works, and what it can write. */
function placeOf({ scope, stateDir, workspaces }: ServiceWish): string {
  if (scope === 'user') return '';
  const bound = workspaces.map(bindable).join(' ');
  const folders = workspaces.length === 0 ? '' : `BindPaths=${bound}\nReadWritePaths=${bound}\n`;
  return `User=${SYSTEM_USER}
Group=${SYSTEM_USER}
StateDirectory=palisade
StateDirectoryMode=0700
WorkingDirectory=${specifiers(stateDir)}
Environment=HOME=${specifiers(stateDir)}
${folders}`;
}

function bindable(path: string): string {
  if (!path.includes(':')) return quoted(path);
  throw wrongUsage(
    `Cannot use the workspace "${path}": systemd takes ":" as a separator, expected a path without it`,
  );
}

/** One word of a command line of systemd: no specifier, variable or escape of it is read in the text. */
function quoted(word: string): string {
  const text = specifiers(word).replaceAll('$', '$$$$');
  if (/^[A-Za-z0-9_./:=@%+,-]+$/.test(text)) return text;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function specifiers(text: string): string {
  // Boundary: a line end in a path would begin another directive.
  if (/\p{Cc}/u.test(text))
    throw wrongUsage(
      `Cannot write "${text}" into a unit: it has a control character, expected a path without one`,
    );
  return text.replaceAll('%', '%%');
}

/** The agent of launchd for one user. */
export function launchdFile(
  { program, stateDir, listen, workspaces }: ServiceWish,
  folder: string,
): PlannedFile {
  const named = workspaces.flatMap((path) => ['--workspace', path]);
  const words = [...program, 'serve', '--quiet', '--state', stateDir, '--listen', listen, ...named];
  const log = join(stateDir, 'service.log');
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    <string>${xml(word)}</string>`).join('\n')}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
  return {
    path: join(folder, `${LAUNCHD_LABEL}.plist`),
    text: marked(text, { by: 'service install', open: '<!-- ', close: ' -->', after: 1 }),
    mode: 0o644,
  };
}

function xml(text: string): string {
  if (/\p{Cc}/u.test(text))
    throw wrongUsage(
      `Cannot write "${text}" into a property list: it has a control character, expected none`,
    );
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
