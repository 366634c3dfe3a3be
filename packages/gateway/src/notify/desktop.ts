import { execFile } from 'node:child_process';
import { type Channel, textOf } from './notify.ts';

/** Longer than a desktop takes to show a notice. */
const LONGEST_MS = 5_000;
const SCRIPT = [
  ...['-e', 'on run argv'],
  ...['-e', 'display notification (item 2 of argv) with title (item 1 of argv)'],
  ...['-e', 'end run'],
];

/** Shows a notice by the program that the desktop of this platform has. */
export function desktopChannel(platform: NodeJS.Platform = process.platform, run = runProgram): Channel {
  return (notice, signal) => {
    const { title, body } = textOf(notice);
    // Boundary: texts are arguments, of no shell and of no script; `--` ends the options, and markup is escaped.
    if (platform === 'darwin') return run('osascript', [...SCRIPT, '--', title, body], signal);
    return run('notify-send', ['--app-name=Palisade', '--', title, escapeMarkup(body)], signal);
  };
}

function runProgram(program: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], { timeout: LONGEST_MS, signal, windowsHide: true }, (error) =>
      error === null ? resolve() : reject(new Error(`${program}: ${error.code ?? error.signal}`)),
    );
    child.stdin?.end();
  });
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
