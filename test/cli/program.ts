import { main } from '../../src/cli/main.ts';

/** The command line in one file, for tests that start many processes while `dist/` may be built anew. */
await main(process.argv.slice(2));
