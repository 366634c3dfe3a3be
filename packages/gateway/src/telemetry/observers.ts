import type { Observer } from '../core/observer.ts';

/** Tells every one of them. */
export function together(observers: readonly Observer[]): Observer {
  const [only] = observers;
  if (only !== undefined && observers.length === 1) return only;
  return (call) => {
    const watches = observers.map((observer) => observer(call));
    return {
      step: (name) => {
        for (const watch of watches) watch.step(name);
      },
      ended: (outcome, usage) => {
        for (const watch of watches) watch.ended(outcome, usage);
      },
    };
  };
}
