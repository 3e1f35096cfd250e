# A worker or a command line. Its configuration is mounted or set by REASONIX_… variables; see docs/operations.md.
FROM node:20-slim AS build
WORKDIR /build
COPY package.json package-lock.json tsconfig.json tsdown.config.ts ./
COPY scripts ./scripts
COPY src ./src
COPY prompts ./prompts
COPY bin ./bin
COPY skills ./skills
# Installing builds, too.
RUN npm ci
# The drivers of the two services and the dashboard, which are left to whoever needs them: as dependencies they stay
# when what only building needs goes. Without one of them the image is not made.
RUN npm install --save-prod --ignore-scripts bullmq@^6.7.0 ioredis@^6.0.0 pg@^8.11.0 \
    @bull-board/api@^9.10.1 @bull-board/hono@^9.10.1 \
  && npm prune --omit=dev --ignore-scripts \
  && node -e "['bullmq', 'ioredis', 'pg', '@bull-board/api', '@bull-board/hono'].forEach((name) => require.resolve(name))"

FROM node:20-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends git ca-certificates tini \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/package.json ./
COPY --from=build /build/bin ./bin
COPY --from=build /build/prompts ./prompts
COPY --from=build /build/skills ./skills
RUN ln -s /app/bin/reasonix.js /usr/local/bin/reasonix \
  && install -d -o node -g node /work \
  && install -d -m 1777 /home/node/.reasonix
# Also where another user is chosen, who has no home.
ENV REASONIX_HOME=/home/node/.reasonix
USER node
WORKDIR /work
ENTRYPOINT ["tini", "--", "reasonix"]
CMD ["worker"]
