import type { Views } from '../../server/views.ts';
import { exportHtml } from '../session/export-html.ts';
import { statesOf } from '../session/open-states.ts';
import { sessionJson } from '../session/session-json.ts';
import { summaryJson } from '../session/summary-json.ts';
import { treeJson } from '../session/tree.ts';
import { SessionWatch } from '../session/watch.ts';
import { skillJson } from '../skills.ts';

/** What the server answers is what the commands print. */
export const views: Views = {
  summaries: async ({ store, config }, summaries) => {
    const stateOf = await statesOf(store, summaries, config);
    return summaries.map((summary) => summaryJson(summary, stateOf(summary)));
  },
  session: async ({ store, config }, { summary, events }) => {
    const stateOf = await statesOf(store, [summary], config);
    return sessionJson(summary, events, stateOf(summary));
  },
  tree: async (store, summary) => {
    const watch = new SessionWatch(store, summary);
    await watch.look();
    return treeJson(watch);
  },
  skill: skillJson,
  page: (session, surroundings) => exportHtml([session], surroundings),
};
