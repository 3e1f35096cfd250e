import { EXIT } from '../failure.ts';
export const chat = async (): Promise<number> => EXIT.failed;
