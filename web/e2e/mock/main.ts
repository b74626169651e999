import { startMock } from './server';

const { url } = await startMock({ port: Number(process.env.PORT ?? 8890), pace: Number(process.env.PACE ?? 20) });
console.log(`listening on ${url}`);
