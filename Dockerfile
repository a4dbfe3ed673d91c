ARG PYTHON=3.11
FROM python:${PYTHON}-slim AS build
# Extras of the package, such as `otel` or `dask,otel`.
ARG EXTRAS=
WORKDIR /source
ENV UV_LINK_MODE=copy UV_NO_CACHE=1

# The packages change seldom: installed first, they stay cached.
COPY requirements requirements
RUN python -m venv /opt/uv \
 && /opt/uv/bin/pip install --no-cache-dir --require-hashes -r requirements/uv.txt
RUN /opt/uv/bin/uv venv --python python /opt/penstock \
 && /opt/uv/bin/uv pip install --python /opt/penstock --require-hashes -r requirements/serving.txt

# So do the pages.
COPY server/pages server/pages
COPY server/graphiql server/graphiql
COPY console console
RUN /opt/uv/bin/uv venv --python python .build/node \
 && /opt/uv/bin/uv pip install --python .build/node --require-hashes -r requirements/node.txt \
 && python server/pages/build.py

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
COPY docs/errors docs/errors
RUN /opt/uv/bin/uv build --wheel --build-constraints requirements/testing.txt --out-dir /wheels \
 && /opt/uv/bin/uv pip install --python /opt/penstock --constraints requirements/testing.txt \
    "$(ls /wheels/*.whl)[${EXTRAS}]"


FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="Penstock" \
      org.opencontainers.image.description="A GraphQL API server for pipeline metadata kept in one DynamoDB table and one S3 bucket." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/penstock /opt/penstock
RUN install -d -o 10001 -g 10001 /data
ENV PATH=/opt/penstock/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PENSTOCK_DATA_DIR=/data \
    PENSTOCK_LOG_FORMAT=json \
    PENSTOCK_PORT=8000 \
    SQLITE_TMPDIR=/data \
    TMPDIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PENSTOCK_PORT']), timeout=2); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["penstock"]
CMD ["serve", "--host", "0.0.0.0"]
