// To whom a pod belongs: the one whose name people know, not the ReplicaSet or Job between.

import { indexer } from "informant-plugin";

/** What stands between, and is looked at for its own owner. */
const BETWEEN = { ReplicaSet: "apps/v1/replicasets", Job: "batch/v1/jobs" };

export const READS = Object.values(BETWEEN).map((resource) => ({ resource }));

const OWNERS = "/metadata/ownerReferences";

const controller = (owners) => (owners ?? []).find((owner) => owner.controller);

/** `Deployment shop/web`; a pod that belongs to nobody is its own owner. */
export function ownerOf(namespace, name, owners) {
  const direct = controller(owners);
  if (direct === undefined) return `Pod ${namespace}/${name}`;
  const resource = BETWEEN[direct.kind];
  const above = resource === undefined ? null : indexer.fields(resource, { namespace, name: direct.name }, [OWNERS]);
  const { kind, name: of } = controller(above?.[0]) ?? direct;
  return `${kind} ${namespace}/${of}`;
}
