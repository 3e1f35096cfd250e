import { acquire } from './pool.js';

export async function checkout(request, reply) {
  let connection;
  try {
    connection = await acquire();
    const order = await connection.insertOrder(request.body);
    await authorise(order); // the connection stays taken while the payment provider answers
    return reply.code(200).send(order);
  } catch (error) {
    request.log.error(error.message);
    return reply.code(503).send(); // the gateway tries again at once
  } finally {
    connection?.release();
  }
}
