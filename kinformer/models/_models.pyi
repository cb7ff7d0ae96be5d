# Made by tests/models/stubs.py from kubernetes_asyncio's metadata: what type checkers and editors know of the models.
import builtins
from datetime import datetime
from typing import Any

from kinformer.models._base import Model

class PartialObjectMetadata(Model):
    """What the server sends of an object to whoever asks for its metadata only."""

    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...

class AdmissionregistrationV1ServiceReference(Model):
    name: str = ...
    namespace: str = ...
    path: str | None = None
    port: int | None = None

class AdmissionregistrationV1WebhookClientConfig(Model):
    ca_bundle: str | None = None
    service: AdmissionregistrationV1ServiceReference | None = None
    url: str | None = None

class ApiextensionsV1ServiceReference(Model):
    name: str = ...
    namespace: str = ...
    path: str | None = None
    port: int | None = None

class ApiextensionsV1WebhookClientConfig(Model):
    ca_bundle: str | None = None
    service: ApiextensionsV1ServiceReference | None = None
    url: str | None = None

class ApiregistrationV1ServiceReference(Model):
    name: str | None = None
    namespace: str | None = None
    port: int | None = None

class AuthenticationV1TokenRequest(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1TokenRequestSpec = ...
    status: V1TokenRequestStatus = ...

class CoreV1EndpointPort(Model):
    app_protocol: str | None = None
    name: str | None = None
    port: int = ...
    protocol: str | None = None

class CoreV1Event(Model):
    action: str | None = None
    api_version: str | None = None
    count: int | None = None
    event_time: datetime | None = None
    first_timestamp: datetime | None = None
    involved_object: V1ObjectReference = ...
    kind: str | None = None
    last_timestamp: datetime | None = None
    message: str | None = None
    metadata: V1ObjectMeta = ...
    reason: str | None = None
    related: V1ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
    series: CoreV1EventSeries | None = None
    source: V1EventSource = ...
    type: str | None = None

class CoreV1EventList(Model):
    api_version: str | None = None
    items: list[CoreV1Event] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class CoreV1EventSeries(Model):
    count: int | None = None
    last_observed_time: datetime | None = None

class CoreV1ResourceClaim(Model):
    name: str = ...
    request: str | None = None

class DiscoveryV1EndpointPort(Model):
    app_protocol: str | None = None
    name: str | None = None
    port: int | None = None
    protocol: str | None = None

class EventsV1Event(Model):
    action: str | None = None
    api_version: str | None = None
    deprecated_count: int | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_source: V1EventSource | None = None
    event_time: datetime = ...
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    note: str | None = None
    reason: str | None = None
    regarding: V1ObjectReference | None = None
    related: V1ObjectReference | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    series: EventsV1EventSeries | None = None
    type: str | None = None

class EventsV1EventList(Model):
    api_version: str | None = None
    items: list[EventsV1Event] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class EventsV1EventSeries(Model):
    count: int = ...
    last_observed_time: datetime = ...

class FlowcontrolV1Subject(Model):
    group: V1GroupSubject | None = None
    kind: str = ...
    service_account: V1ServiceAccountSubject | None = None
    user: V1UserSubject | None = None

class RbacV1Subject(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...
    namespace: str | None = None

class ResourceV1ResourceClaim(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ResourceClaimSpec = ...
    status: V1ResourceClaimStatus = ...

class StorageV1TokenRequest(Model):
    audience: str = ...
    expiration_seconds: int | None = None

class V1APIGroup(Model):
    api_version: str | None = None
    kind: str | None = None
    name: str = ...
    preferred_version: V1GroupVersionForDiscovery | None = None
    server_address_by_client_cidrs: list[V1ServerAddressByClientCIDR] | None = None
    versions: list[V1GroupVersionForDiscovery] = ...

class V1APIGroupList(Model):
    api_version: str | None = None
    groups: list[V1APIGroup] = ...
    kind: str | None = None

class V1APIResource(Model):
    categories: list[str] | None = None
    group: str | None = None
    kind: str = ...
    name: str = ...
    namespaced: bool = ...
    short_names: list[str] | None = None
    singular_name: str = ...
    storage_version_hash: str | None = None
    verbs: list[str] = ...
    version: str | None = None

class V1APIResourceList(Model):
    api_version: str | None = None
    group_version: str = ...
    kind: str | None = None
    resources: list[V1APIResource] = ...

class V1APIService(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1APIServiceSpec = ...
    status: V1APIServiceStatus = ...

class V1APIServiceCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1APIServiceList(Model):
    api_version: str | None = None
    items: list[V1APIService] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1APIServiceSpec(Model):
    ca_bundle: str | None = None
    group: str | None = None
    group_priority_minimum: int = ...
    insecure_skip_tls_verify: bool | None = None
    service: ApiregistrationV1ServiceReference | None = None
    version: str | None = None
    version_priority: int = ...

class V1APIServiceStatus(Model):
    conditions: list[V1APIServiceCondition] | None = None

class V1APIVersions(Model):
    api_version: str | None = None
    kind: str | None = None
    server_address_by_client_cidrs: list[V1ServerAddressByClientCIDR] = ...
    versions: list[str] = ...

class V1AWSElasticBlockStoreVolumeSource(Model):
    fs_type: str | None = None
    partition: int | None = None
    read_only: bool | None = None
    volume_id: str = ...

class V1Affinity(Model):
    node_affinity: V1NodeAffinity | None = None
    pod_affinity: V1PodAffinity | None = None
    pod_anti_affinity: V1PodAntiAffinity | None = None

class V1AggregationRule(Model):
    cluster_role_selectors: list[V1LabelSelector] | None = None

class V1AllocatedDeviceStatus(Model):
    conditions: list[V1Condition] | None = None
    data: Any = ...
    device: str = ...
    driver: str = ...
    network_data: V1NetworkDeviceData | None = None
    pool: str = ...
    share_id: str | None = None

class V1AllocationResult(Model):
    allocation_timestamp: datetime | None = None
    devices: V1DeviceAllocationResult | None = None
    node_selector: V1NodeSelector | None = None

class V1AppArmorProfile(Model):
    localhost_profile: str | None = None
    type: str = ...

class V1ApplyConfiguration(Model):
    expression: str | None = None

class V1AttachedVolume(Model):
    device_path: str = ...
    name: str = ...

class V1AuditAnnotation(Model):
    key: str = ...
    value_expression: str = ...

class V1AzureDiskVolumeSource(Model):
    caching_mode: str | None = None
    disk_name: str = ...
    disk_uri: str = ...
    fs_type: str | None = None
    kind: str | None = None
    read_only: bool | None = None

class V1AzureFilePersistentVolumeSource(Model):
    read_only: bool | None = None
    secret_name: str = ...
    secret_namespace: str | None = None
    share_name: str = ...

class V1AzureFileVolumeSource(Model):
    read_only: bool | None = None
    secret_name: str = ...
    share_name: str = ...

class V1Binding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    target: V1ObjectReference = ...

class V1BoundObjectReference(Model):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None

class V1CELDeviceSelector(Model):
    expression: str = ...

class V1CSIDriver(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1CSIDriverSpec = ...

class V1CSIDriverList(Model):
    api_version: str | None = None
    items: list[V1CSIDriver] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CSIDriverSpec(Model):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: int | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: list[StorageV1TokenRequest] | None = None
    volume_lifecycle_modes: list[str] | None = None

class V1CSINode(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1CSINodeSpec = ...

class V1CSINodeDriver(Model):
    allocatable: V1VolumeNodeResources | None = None
    name: str = ...
    node_id: str = ...
    topology_keys: list[str] | None = None

class V1CSINodeList(Model):
    api_version: str | None = None
    items: list[V1CSINode] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CSINodeSpec(Model):
    drivers: list[V1CSINodeDriver] = ...

class V1CSIPersistentVolumeSource(Model):
    controller_expand_secret_ref: V1SecretReference | None = None
    controller_publish_secret_ref: V1SecretReference | None = None
    driver: str = ...
    fs_type: str | None = None
    node_expand_secret_ref: V1SecretReference | None = None
    node_publish_secret_ref: V1SecretReference | None = None
    node_stage_secret_ref: V1SecretReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None
    volume_handle: str = ...

class V1CSIStorageCapacity(Model):
    api_version: str | None = None
    capacity: str | None = None
    kind: str | None = None
    maximum_volume_size: str | None = None
    metadata: V1ObjectMeta = ...
    node_topology: V1LabelSelector | None = None
    storage_class_name: str = ...

class V1CSIStorageCapacityList(Model):
    api_version: str | None = None
    items: list[V1CSIStorageCapacity] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CSIVolumeSource(Model):
    driver: str = ...
    fs_type: str | None = None
    node_publish_secret_ref: V1LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None

class V1Capabilities(Model):
    add: list[str] | None = None
    drop: list[str] | None = None

class V1CapacityRequestPolicy(Model):
    default: str | None = None
    valid_range: V1CapacityRequestPolicyRange | None = None
    valid_values: list[str] | None = None

class V1CapacityRequestPolicyRange(Model):
    max: str | None = None
    min: str = ...
    step: str | None = None

class V1CapacityRequirements(Model):
    requests: dict[str, str] | None = None

class V1CephFSPersistentVolumeSource(Model):
    monitors: list[str] = ...
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: V1SecretReference | None = None
    user: str | None = None

class V1CephFSVolumeSource(Model):
    monitors: list[str] = ...
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: V1LocalObjectReference | None = None
    user: str | None = None

class V1CertificateSigningRequest(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1CertificateSigningRequestSpec = ...
    status: V1CertificateSigningRequestStatus = ...

class V1CertificateSigningRequestCondition(Model):
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1CertificateSigningRequestList(Model):
    api_version: str | None = None
    items: list[V1CertificateSigningRequest] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CertificateSigningRequestSpec(Model):
    expiration_seconds: int | None = None
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    request: str = ...
    signer_name: str = ...
    uid: str | None = None
    usages: list[str] | None = None
    username: str | None = None

class V1CertificateSigningRequestStatus(Model):
    certificate: str | None = None
    conditions: list[V1CertificateSigningRequestCondition] | None = None

class V1CinderPersistentVolumeSource(Model):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: V1SecretReference | None = None
    volume_id: str = ...

class V1CinderVolumeSource(Model):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference | None = None
    volume_id: str = ...

class V1ClientIPConfig(Model):
    timeout_seconds: int | None = None

class V1ClusterRole(Model):
    aggregation_rule: V1AggregationRule | None = None
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    rules: list[V1PolicyRule] | None = None

class V1ClusterRoleBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    role_ref: V1RoleRef = ...
    subjects: list[RbacV1Subject] | None = None

class V1ClusterRoleBindingList(Model):
    api_version: str | None = None
    items: list[V1ClusterRoleBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ClusterRoleList(Model):
    api_version: str | None = None
    items: list[V1ClusterRole] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ClusterTrustBundleProjection(Model):
    label_selector: V1LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    path: str = ...
    signer_name: str | None = None

class V1ComponentCondition(Model):
    error: str | None = None
    message: str | None = None
    status: str = ...
    type: str = ...

class V1ComponentStatus(Model):
    api_version: str | None = None
    conditions: list[V1ComponentCondition] | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...

class V1ComponentStatusList(Model):
    api_version: str | None = None
    items: list[V1ComponentStatus] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1Condition(Model):
    last_transition_time: datetime = ...
    message: str = ...
    observed_generation: int | None = None
    reason: str = ...
    status: str = ...
    type: str = ...

class V1ConfigMap(Model):
    api_version: str | None = None
    binary_data: dict[str, str] | None = None
    data: dict[str, str] | None = None
    immutable: bool | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...

class V1ConfigMapEnvSource(Model):
    name: str | None = None
    optional: bool | None = None

class V1ConfigMapKeySelector(Model):
    key: str = ...
    name: str | None = None
    optional: bool | None = None

class V1ConfigMapList(Model):
    api_version: str | None = None
    items: list[V1ConfigMap] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ConfigMapNodeConfigSource(Model):
    kubelet_config_key: str = ...
    name: str = ...
    namespace: str = ...
    resource_version: str | None = None
    uid: str | None = None

class V1ConfigMapProjection(Model):
    items: list[V1KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None

class V1ConfigMapVolumeSource(Model):
    default_mode: int | None = None
    items: list[V1KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None

class V1Container(Model):
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[V1EnvVar] | None = None
    env_from: list[V1EnvFromSource] | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    lifecycle: V1Lifecycle | None = None
    liveness_probe: V1Probe | None = None
    name: str = ...
    ports: list[V1ContainerPort] | None = None
    readiness_probe: V1Probe | None = None
    resize_policy: list[V1ContainerResizePolicy] | None = None
    resources: V1ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[V1ContainerRestartRule] | None = None
    security_context: V1SecurityContext | None = None
    startup_probe: V1Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: list[V1VolumeDevice] | None = None
    volume_mounts: list[V1VolumeMount] | None = None
    working_dir: str | None = None

class V1ContainerExtendedResourceRequest(Model):
    container_name: str = ...
    request_name: str = ...
    resource_name: str = ...

class V1ContainerImage(Model):
    names: list[str] | None = None
    size_bytes: int | None = None

class V1ContainerPort(Model):
    container_port: int = ...
    host_ip: str | None = None
    host_port: int | None = None
    name: str | None = None
    protocol: str | None = None

class V1ContainerResizePolicy(Model):
    resource_name: str = ...
    restart_policy: str = ...

class V1ContainerRestartRule(Model):
    action: str = ...
    exit_codes: V1ContainerRestartRuleOnExitCodes | None = None

class V1ContainerRestartRuleOnExitCodes(Model):
    operator: str = ...
    values: list[int] | None = None

class V1ContainerState(Model):
    running: V1ContainerStateRunning | None = None
    terminated: V1ContainerStateTerminated | None = None
    waiting: V1ContainerStateWaiting | None = None

class V1ContainerStateRunning(Model):
    started_at: datetime | None = None

class V1ContainerStateTerminated(Model):
    container_id: str | None = None
    exit_code: int = ...
    finished_at: datetime | None = None
    message: str | None = None
    reason: str | None = None
    signal: int | None = None
    started_at: datetime | None = None

class V1ContainerStateWaiting(Model):
    message: str | None = None
    reason: str | None = None

class V1ContainerStatus(Model):
    allocated_resources: dict[str, str] | None = None
    allocated_resources_status: list[V1ResourceStatus] | None = None
    container_id: str | None = None
    image: str = ...
    image_id: str = ...
    last_state: V1ContainerState | None = None
    name: str = ...
    ready: bool = ...
    resources: V1ResourceRequirements | None = None
    restart_count: int = ...
    started: bool | None = None
    state: V1ContainerState | None = None
    stop_signal: str | None = None
    user: V1ContainerUser | None = None
    volume_mounts: list[V1VolumeMountStatus] | None = None

class V1ContainerUser(Model):
    linux: V1LinuxContainerUser | None = None

class V1ControllerRevision(Model):
    api_version: str | None = None
    data: Any = ...
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    revision: int = ...

class V1ControllerRevisionList(Model):
    api_version: str | None = None
    items: list[V1ControllerRevision] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1Counter(Model):
    value: str = ...

class V1CounterSet(Model):
    counters: dict[str, V1Counter] = ...
    name: str = ...

class V1CronJob(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1CronJobSpec = ...
    status: V1CronJobStatus = ...

class V1CronJobList(Model):
    api_version: str | None = None
    items: list[V1CronJob] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CronJobSpec(Model):
    concurrency_policy: str | None = None
    failed_jobs_history_limit: int | None = None
    job_template: V1JobTemplateSpec = ...
    schedule: str = ...
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int | None = None
    suspend: bool | None = None
    time_zone: str | None = None

class V1CronJobStatus(Model):
    active: list[V1ObjectReference] | None = None
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None

class V1CrossVersionObjectReference(Model):
    api_version: str | None = None
    kind: str = ...
    name: str = ...

class V1CustomResourceColumnDefinition(Model):
    description: str | None = None
    format: str | None = None
    json_path: str = ...
    name: str = ...
    priority: int | None = None
    type: str = ...

class V1CustomResourceConversion(Model):
    strategy: str = ...
    webhook: V1WebhookConversion | None = None

class V1CustomResourceDefinition(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1CustomResourceDefinitionSpec = ...
    status: V1CustomResourceDefinitionStatus = ...

class V1CustomResourceDefinitionCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1CustomResourceDefinitionList(Model):
    api_version: str | None = None
    items: list[V1CustomResourceDefinition] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1CustomResourceDefinitionNames(Model):
    categories: list[str] | None = None
    kind: str = ...
    list_kind: str | None = None
    plural: str = ...
    short_names: list[str] | None = None
    singular: str | None = None

class V1CustomResourceDefinitionSpec(Model):
    conversion: V1CustomResourceConversion | None = None
    group: str = ...
    names: V1CustomResourceDefinitionNames = ...
    preserve_unknown_fields: bool | None = None
    scope: str = ...
    versions: list[V1CustomResourceDefinitionVersion] = ...

class V1CustomResourceDefinitionStatus(Model):
    accepted_names: V1CustomResourceDefinitionNames | None = None
    conditions: list[V1CustomResourceDefinitionCondition] | None = None
    observed_generation: int | None = None
    stored_versions: list[str] | None = None

class V1CustomResourceDefinitionVersion(Model):
    additional_printer_columns: list[V1CustomResourceColumnDefinition] | None = None
    deprecated: bool | None = None
    deprecation_warning: str | None = None
    name: str = ...
    schema: V1CustomResourceValidation | None = None
    selectable_fields: list[V1SelectableField] | None = None
    served: bool = ...
    storage: bool = ...
    subresources: V1CustomResourceSubresources | None = None

class V1CustomResourceSubresourceScale(Model):
    label_selector_path: str | None = None
    spec_replicas_path: str = ...
    status_replicas_path: str = ...

class V1CustomResourceSubresources(Model):
    scale: V1CustomResourceSubresourceScale | None = None
    status: Any = ...

class V1CustomResourceValidation(Model):
    open_apiv3_schema: V1JSONSchemaProps | None = None

class V1DaemonEndpoint(Model):
    port: int = ...

class V1DaemonSet(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1DaemonSetSpec = ...
    status: V1DaemonSetStatus = ...

class V1DaemonSetCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1DaemonSetList(Model):
    api_version: str | None = None
    items: list[V1DaemonSet] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1DaemonSetSpec(Model):
    min_ready_seconds: int | None = None
    revision_history_limit: int | None = None
    selector: V1LabelSelector = ...
    template: V1PodTemplateSpec = ...
    update_strategy: V1DaemonSetUpdateStrategy | None = None

class V1DaemonSetStatus(Model):
    collision_count: int | None = None
    conditions: list[V1DaemonSetCondition] | None = None
    current_number_scheduled: int = ...
    desired_number_scheduled: int = ...
    number_available: int | None = None
    number_misscheduled: int = ...
    number_ready: int = ...
    number_unavailable: int | None = None
    observed_generation: int | None = None
    updated_number_scheduled: int | None = None

class V1DaemonSetUpdateStrategy(Model):
    rolling_update: V1RollingUpdateDaemonSet | None = None
    type: str | None = None

class V1DeleteOptions(Model):
    api_version: str | None = None
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str | None = None
    orphan_dependents: bool | None = None
    preconditions: V1Preconditions | None = None
    propagation_policy: str | None = None

class V1Deployment(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1DeploymentSpec = ...
    status: V1DeploymentStatus = ...

class V1DeploymentCondition(Model):
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1DeploymentList(Model):
    api_version: str | None = None
    items: list[V1Deployment] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1DeploymentSpec(Model):
    min_ready_seconds: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    replicas: int | None = None
    revision_history_limit: int | None = None
    selector: V1LabelSelector = ...
    strategy: V1DeploymentStrategy = ...
    template: V1PodTemplateSpec = ...

class V1DeploymentStatus(Model):
    available_replicas: int | None = None
    collision_count: int | None = None
    conditions: list[V1DeploymentCondition] | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int | None = None
    terminating_replicas: int | None = None
    unavailable_replicas: int | None = None
    updated_replicas: int | None = None

class V1DeploymentStrategy(Model):
    rolling_update: V1RollingUpdateDeployment | None = None
    type: str | None = None

class V1Device(Model):
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, V1DeviceAttribute] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    binds_to_node: bool | None = None
    capacity: dict[str, V1DeviceCapacity] | None = None
    consumes_counters: list[V1DeviceCounterConsumption] | None = None
    name: str = ...
    node_allocatable_resource_mappings: dict[str, V1NodeAllocatableResourceMapping] | None = None
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    taints: list[V1DeviceTaint] | None = None

class V1DeviceAllocationConfiguration(Model):
    opaque: V1OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None
    source: str = ...

class V1DeviceAllocationResult(Model):
    config: list[V1DeviceAllocationConfiguration] | None = None
    results: list[V1DeviceRequestAllocationResult] | None = None

class V1DeviceAttribute(Model):
    bool: builtins.bool | None = None
    bools: list[builtins.bool] | None = None
    int: builtins.int | None = None
    ints: list[builtins.int] | None = None
    string: str | None = None
    strings: list[str] | None = None
    version: str | None = None
    versions: list[str] | None = None

class V1DeviceCapacity(Model):
    request_policy: V1CapacityRequestPolicy | None = None
    value: str = ...

class V1DeviceClaim(Model):
    config: list[V1DeviceClaimConfiguration] | None = None
    constraints: list[V1DeviceConstraint] | None = None
    requests: list[V1DeviceRequest] | None = None

class V1DeviceClaimConfiguration(Model):
    opaque: V1OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None

class V1DeviceClass(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1DeviceClassSpec = ...

class V1DeviceClassConfiguration(Model):
    opaque: V1OpaqueDeviceConfiguration | None = None

class V1DeviceClassList(Model):
    api_version: str | None = None
    items: list[V1DeviceClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1DeviceClassSpec(Model):
    config: list[V1DeviceClassConfiguration] | None = None
    extended_resource_name: str | None = None
    selectors: list[V1DeviceSelector] | None = None

class V1DeviceConstraint(Model):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: list[str] | None = None

class V1DeviceCounterConsumption(Model):
    counter_set: str = ...
    counters: dict[str, V1Counter] = ...

class V1DeviceRequest(Model):
    exactly: V1ExactDeviceRequest | None = None
    first_available: list[V1DeviceSubRequest] | None = None
    name: str = ...

class V1DeviceRequestAllocationResult(Model):
    admin_access: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    consumed_capacity: dict[str, str] | None = None
    device: str = ...
    driver: str = ...
    pool: str = ...
    request: str = ...
    share_id: str | None = None
    tolerations: list[V1DeviceToleration] | None = None

class V1DeviceSelector(Model):
    cel: V1CELDeviceSelector | None = None

class V1DeviceSubRequest(Model):
    allocation_mode: str | None = None
    capacity: V1CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str = ...
    name: str = ...
    selectors: list[V1DeviceSelector] | None = None
    tolerations: list[V1DeviceToleration] | None = None

class V1DeviceTaint(Model):
    effect: str = ...
    key: str = ...
    time_added: datetime | None = None
    value: str | None = None

class V1DeviceToleration(Model):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None

class V1DownwardAPIProjection(Model):
    items: list[V1DownwardAPIVolumeFile] | None = None

class V1DownwardAPIVolumeFile(Model):
    field_ref: V1ObjectFieldSelector | None = None
    mode: int | None = None
    path: str = ...
    resource_field_ref: V1ResourceFieldSelector | None = None

class V1DownwardAPIVolumeSource(Model):
    default_mode: int | None = None
    items: list[V1DownwardAPIVolumeFile] | None = None

class V1EmptyDirVolumeSource(Model):
    medium: str | None = None
    size_limit: str | None = None

class V1Endpoint(Model):
    addresses: list[str] = ...
    conditions: V1EndpointConditions | None = None
    deprecated_topology: dict[str, str] | None = None
    hints: V1EndpointHints | None = None
    hostname: str | None = None
    node_name: str | None = None
    target_ref: V1ObjectReference | None = None
    zone: str | None = None

class V1EndpointAddress(Model):
    hostname: str | None = None
    ip: str = ...
    node_name: str | None = None
    target_ref: V1ObjectReference | None = None

class V1EndpointConditions(Model):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None

class V1EndpointHints(Model):
    for_nodes: list[V1ForNode] | None = None
    for_zones: list[V1ForZone] | None = None

class V1EndpointSlice(Model):
    address_type: str = ...
    api_version: str | None = None
    endpoints: list[V1Endpoint] | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    ports: list[DiscoveryV1EndpointPort] | None = None

class V1EndpointSliceList(Model):
    api_version: str | None = None
    items: list[V1EndpointSlice] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1EndpointSubset(Model):
    addresses: list[V1EndpointAddress] | None = None
    not_ready_addresses: list[V1EndpointAddress] | None = None
    ports: list[CoreV1EndpointPort] | None = None

class V1Endpoints(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    subsets: list[V1EndpointSubset] | None = None

class V1EndpointsList(Model):
    api_version: str | None = None
    items: list[V1Endpoints] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1EnvFromSource(Model):
    config_map_ref: V1ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: V1SecretEnvSource | None = None

class V1EnvVar(Model):
    name: str = ...
    value: str | None = None
    value_from: V1EnvVarSource | None = None

class V1EnvVarSource(Model):
    config_map_key_ref: V1ConfigMapKeySelector | None = None
    field_ref: V1ObjectFieldSelector | None = None
    file_key_ref: V1FileKeySelector | None = None
    resource_field_ref: V1ResourceFieldSelector | None = None
    secret_key_ref: V1SecretKeySelector | None = None

class V1EphemeralContainer(Model):
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[V1EnvVar] | None = None
    env_from: list[V1EnvFromSource] | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    lifecycle: V1Lifecycle | None = None
    liveness_probe: V1Probe | None = None
    name: str = ...
    ports: list[V1ContainerPort] | None = None
    readiness_probe: V1Probe | None = None
    resize_policy: list[V1ContainerResizePolicy] | None = None
    resources: V1ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[V1ContainerRestartRule] | None = None
    security_context: V1SecurityContext | None = None
    startup_probe: V1Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: list[V1VolumeDevice] | None = None
    volume_mounts: list[V1VolumeMount] | None = None
    working_dir: str | None = None

class V1EphemeralVolumeSource(Model):
    volume_claim_template: V1PersistentVolumeClaimTemplate | None = None

class V1EventSource(Model):
    component: str | None = None
    host: str | None = None

class V1Eviction(Model):
    api_version: str | None = None
    delete_options: V1DeleteOptions | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...

class V1ExactDeviceRequest(Model):
    admin_access: bool | None = None
    allocation_mode: str | None = None
    capacity: V1CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str = ...
    selectors: list[V1DeviceSelector] | None = None
    tolerations: list[V1DeviceToleration] | None = None

class V1ExecAction(Model):
    command: list[str] | None = None

class V1ExemptPriorityLevelConfiguration(Model):
    lendable_percent: int | None = None
    nominal_concurrency_shares: int | None = None

class V1ExpressionWarning(Model):
    field_ref: str = ...
    warning: str = ...

class V1ExternalDocumentation(Model):
    description: str | None = None
    url: str | None = None

class V1FCVolumeSource(Model):
    fs_type: str | None = None
    lun: int | None = None
    read_only: bool | None = None
    target_wwns: list[str] | None = None
    wwids: list[str] | None = None

class V1FieldSelectorAttributes(Model):
    raw_selector: str | None = None
    requirements: list[V1FieldSelectorRequirement] | None = None

class V1FieldSelectorRequirement(Model):
    key: str = ...
    operator: str = ...
    values: list[str] | None = None

class V1FileKeySelector(Model):
    key: str = ...
    optional: bool | None = None
    path: str = ...
    volume_name: str = ...

class V1FlexPersistentVolumeSource(Model):
    driver: str = ...
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: V1SecretReference | None = None

class V1FlexVolumeSource(Model):
    driver: str = ...
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference | None = None

class V1FlockerVolumeSource(Model):
    dataset_name: str | None = None
    dataset_uuid: str | None = None

class V1FlowDistinguisherMethod(Model):
    type: str = ...

class V1FlowSchema(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1FlowSchemaSpec = ...
    status: V1FlowSchemaStatus = ...

class V1FlowSchemaCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None

class V1FlowSchemaList(Model):
    api_version: str | None = None
    items: list[V1FlowSchema] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1FlowSchemaSpec(Model):
    distinguisher_method: V1FlowDistinguisherMethod | None = None
    matching_precedence: int | None = None
    priority_level_configuration: V1PriorityLevelConfigurationReference = ...
    rules: list[V1PolicyRulesWithSubjects] | None = None

class V1FlowSchemaStatus(Model):
    conditions: list[V1FlowSchemaCondition] | None = None

class V1ForNode(Model):
    name: str = ...

class V1ForZone(Model):
    name: str = ...

class V1GCEPersistentDiskVolumeSource(Model):
    fs_type: str | None = None
    partition: int | None = None
    pd_name: str = ...
    read_only: bool | None = None

class V1GRPCAction(Model):
    port: int = ...
    service: str | None = None

class V1GitRepoVolumeSource(Model):
    directory: str | None = None
    repository: str = ...
    revision: str | None = None

class V1GlusterfsPersistentVolumeSource(Model):
    endpoints: str = ...
    endpoints_namespace: str | None = None
    path: str = ...
    read_only: bool | None = None

class V1GlusterfsVolumeSource(Model):
    endpoints: str = ...
    path: str = ...
    read_only: bool | None = None

class V1GroupResource(Model):
    group: str = ...
    resource: str = ...

class V1GroupSubject(Model):
    name: str = ...

class V1GroupVersionForDiscovery(Model):
    group_version: str = ...
    version: str = ...

class V1HTTPGetAction(Model):
    host: str | None = None
    http_headers: list[V1HTTPHeader] | None = None
    path: str | None = None
    port: Any = ...
    scheme: str | None = None

class V1HTTPHeader(Model):
    name: str = ...
    value: str = ...

class V1HTTPIngressPath(Model):
    backend: V1IngressBackend = ...
    path: str | None = None
    path_type: str = ...

class V1HTTPIngressRuleValue(Model):
    paths: list[V1HTTPIngressPath] = ...

class V1HorizontalPodAutoscaler(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1HorizontalPodAutoscalerSpec = ...
    status: V1HorizontalPodAutoscalerStatus = ...

class V1HorizontalPodAutoscalerList(Model):
    api_version: str | None = None
    items: list[V1HorizontalPodAutoscaler] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1HorizontalPodAutoscalerSpec(Model):
    max_replicas: int = ...
    min_replicas: int | None = None
    scale_target_ref: V1CrossVersionObjectReference = ...
    target_cpu_utilization_percentage: int | None = None

class V1HorizontalPodAutoscalerStatus(Model):
    current_cpu_utilization_percentage: int | None = None
    current_replicas: int = ...
    desired_replicas: int = ...
    last_scale_time: datetime | None = None
    observed_generation: int | None = None

class V1HostAlias(Model):
    hostnames: list[str] | None = None
    ip: str = ...

class V1HostIP(Model):
    ip: str = ...

class V1HostPathVolumeSource(Model):
    path: str = ...
    type: str | None = None

class V1IPAddress(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1IPAddressSpec = ...

class V1IPAddressList(Model):
    api_version: str | None = None
    items: list[V1IPAddress] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1IPAddressSpec(Model):
    parent_ref: V1ParentReference = ...

class V1IPBlock(Model):
    cidr: str = ...
    _except: list[str] | None = None

class V1ISCSIPersistentVolumeSource(Model):
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str = ...
    iscsi_interface: str | None = None
    lun: int = ...
    portals: list[str] | None = None
    read_only: bool | None = None
    secret_ref: V1SecretReference | None = None
    target_portal: str = ...

class V1ISCSIVolumeSource(Model):
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str = ...
    iscsi_interface: str | None = None
    lun: int = ...
    portals: list[str] | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference | None = None
    target_portal: str = ...

class V1ImageVolumeSource(Model):
    pull_policy: str | None = None
    reference: str | None = None

class V1ImageVolumeStatus(Model):
    image_ref: str = ...

class V1Ingress(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1IngressSpec = ...
    status: V1IngressStatus = ...

class V1IngressBackend(Model):
    resource: V1TypedLocalObjectReference | None = None
    service: V1IngressServiceBackend | None = None

class V1IngressClass(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1IngressClassSpec = ...

class V1IngressClassList(Model):
    api_version: str | None = None
    items: list[V1IngressClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1IngressClassParametersReference(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...
    namespace: str | None = None
    scope: str | None = None

class V1IngressClassSpec(Model):
    controller: str | None = None
    parameters: V1IngressClassParametersReference | None = None

class V1IngressList(Model):
    api_version: str | None = None
    items: list[V1Ingress] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1IngressLoadBalancerIngress(Model):
    hostname: str | None = None
    ip: str | None = None
    ports: list[V1IngressPortStatus] | None = None

class V1IngressLoadBalancerStatus(Model):
    ingress: list[V1IngressLoadBalancerIngress] | None = None

class V1IngressPortStatus(Model):
    error: str | None = None
    port: int = ...
    protocol: str = ...

class V1IngressRule(Model):
    host: str | None = None
    http: V1HTTPIngressRuleValue | None = None

class V1IngressServiceBackend(Model):
    name: str = ...
    port: V1ServiceBackendPort | None = None

class V1IngressSpec(Model):
    default_backend: V1IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: list[V1IngressRule] | None = None
    tls: list[V1IngressTLS] | None = None

class V1IngressStatus(Model):
    load_balancer: V1IngressLoadBalancerStatus | None = None

class V1IngressTLS(Model):
    hosts: list[str] | None = None
    secret_name: str | None = None

class V1JSONPatch(Model):
    expression: str | None = None

class V1JSONSchemaProps(Model):
    ref: str | None = None
    schema: str | None = None
    additional_items: Any = ...
    additional_properties: Any = ...
    all_of: list[V1JSONSchemaProps] | None = None
    any_of: list[V1JSONSchemaProps] | None = None
    default: Any = ...
    definitions: dict[str, V1JSONSchemaProps] | None = None
    dependencies: dict[str, Any] | None = None
    description: str | None = None
    enum: list[Any] | None = None
    example: Any = ...
    exclusive_maximum: bool | None = None
    exclusive_minimum: bool | None = None
    external_docs: V1ExternalDocumentation | None = None
    format: str | None = None
    id: str | None = None
    items: Any = ...
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: float | None = None
    multiple_of: float | None = None
    _not: V1JSONSchemaProps | None = None
    nullable: bool | None = None
    one_of: list[V1JSONSchemaProps] | None = None
    pattern: str | None = None
    pattern_properties: dict[str, V1JSONSchemaProps] | None = None
    properties: dict[str, V1JSONSchemaProps] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: str | None = None
    unique_items: bool | None = None
    x_kubernetes_embedded_resource: bool | None = None
    x_kubernetes_int_or_string: bool | None = None
    x_kubernetes_list_map_keys: list[str] | None = None
    x_kubernetes_list_type: str | None = None
    x_kubernetes_map_type: str | None = None
    x_kubernetes_preserve_unknown_fields: bool | None = None
    x_kubernetes_validations: list[V1ValidationRule] | None = None

class V1Job(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1JobSpec = ...
    status: V1JobStatus = ...

class V1JobCondition(Model):
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1JobList(Model):
    api_version: str | None = None
    items: list[V1Job] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1JobSpec(Model):
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    completion_mode: str | None = None
    completions: int | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    max_failed_indexes: int | None = None
    parallelism: int | None = None
    pod_failure_policy: V1PodFailurePolicy | None = None
    pod_replacement_policy: str | None = None
    selector: V1LabelSelector | None = None
    success_policy: V1SuccessPolicy | None = None
    suspend: bool | None = None
    template: V1PodTemplateSpec = ...
    ttl_seconds_after_finished: int | None = None

class V1JobStatus(Model):
    active: int | None = None
    completed_indexes: str | None = None
    completion_time: datetime | None = None
    conditions: list[V1JobCondition] | None = None
    failed: int | None = None
    failed_indexes: str | None = None
    ready: int | None = None
    start_time: datetime | None = None
    succeeded: int | None = None
    terminating: int | None = None
    uncounted_terminated_pods: V1UncountedTerminatedPods | None = None

class V1JobTemplateSpec(Model):
    metadata: V1ObjectMeta = ...
    spec: V1JobSpec = ...

class V1KeyToPath(Model):
    key: str = ...
    mode: int | None = None
    path: str = ...

class V1LabelSelector(Model):
    match_expressions: list[V1LabelSelectorRequirement] | None = None
    match_labels: dict[str, str] | None = None

class V1LabelSelectorAttributes(Model):
    raw_selector: str | None = None
    requirements: list[V1LabelSelectorRequirement] | None = None

class V1LabelSelectorRequirement(Model):
    key: str = ...
    operator: str = ...
    values: list[str] | None = None

class V1Lease(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1LeaseSpec = ...

class V1LeaseList(Model):
    api_version: str | None = None
    items: list[V1Lease] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1LeaseSpec(Model):
    acquire_time: datetime | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    renew_time: datetime | None = None
    strategy: str | None = None

class V1Lifecycle(Model):
    post_start: V1LifecycleHandler | None = None
    pre_stop: V1LifecycleHandler | None = None
    stop_signal: str | None = None

class V1LifecycleHandler(Model):
    _exec: V1ExecAction | None = None
    http_get: V1HTTPGetAction | None = None
    sleep: V1SleepAction | None = None
    tcp_socket: V1TCPSocketAction | None = None

class V1LimitRange(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1LimitRangeSpec = ...

class V1LimitRangeItem(Model):
    default: dict[str, str] | None = None
    default_request: dict[str, str] | None = None
    max: dict[str, str] | None = None
    max_limit_request_ratio: dict[str, str] | None = None
    min: dict[str, str] | None = None
    type: str = ...

class V1LimitRangeList(Model):
    api_version: str | None = None
    items: list[V1LimitRange] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1LimitRangeSpec(Model):
    limits: list[V1LimitRangeItem] = ...

class V1LimitResponse(Model):
    queuing: V1QueuingConfiguration | None = None
    type: str = ...

class V1LimitedPriorityLevelConfiguration(Model):
    borrowing_limit_percent: int | None = None
    lendable_percent: int | None = None
    limit_response: V1LimitResponse | None = None
    nominal_concurrency_shares: int | None = None

class V1LinuxContainerUser(Model):
    gid: int = ...
    supplemental_groups: list[int] | None = None
    uid: int = ...

class V1ListMeta(Model):
    _continue: str | None = None
    remaining_item_count: int | None = None
    resource_version: str | None = None
    self_link: str | None = None
    shard_info: V1ShardInfo | None = None

class V1LoadBalancerIngress(Model):
    hostname: str | None = None
    ip: str | None = None
    ip_mode: str | None = None
    ports: list[V1PortStatus] | None = None

class V1LoadBalancerStatus(Model):
    ingress: list[V1LoadBalancerIngress] | None = None

class V1LocalObjectReference(Model):
    name: str | None = None

class V1LocalSubjectAccessReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1SubjectAccessReviewSpec = ...
    status: V1SubjectAccessReviewStatus = ...

class V1LocalVolumeSource(Model):
    fs_type: str | None = None
    path: str = ...

class V1ManagedFieldsEntry(Model):
    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: Any = ...
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: datetime | None = None

class V1MatchCondition(Model):
    expression: str = ...
    name: str = ...

class V1MatchResources(Model):
    exclude_resource_rules: list[V1NamedRuleWithOperations] | None = None
    match_policy: str | None = None
    namespace_selector: V1LabelSelector | None = None
    object_selector: V1LabelSelector | None = None
    resource_rules: list[V1NamedRuleWithOperations] | None = None

class V1ModifyVolumeStatus(Model):
    status: str = ...
    target_volume_attributes_class_name: str | None = None

class V1MutatingAdmissionPolicy(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1MutatingAdmissionPolicySpec = ...

class V1MutatingAdmissionPolicyBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1MutatingAdmissionPolicyBindingSpec = ...

class V1MutatingAdmissionPolicyBindingList(Model):
    api_version: str | None = None
    items: list[V1MutatingAdmissionPolicyBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1MutatingAdmissionPolicyBindingSpec(Model):
    match_resources: V1MatchResources | None = None
    param_ref: V1ParamRef | None = None
    policy_name: str | None = None

class V1MutatingAdmissionPolicyList(Model):
    api_version: str | None = None
    items: list[V1MutatingAdmissionPolicy] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1MutatingAdmissionPolicySpec(Model):
    failure_policy: str | None = None
    match_conditions: list[V1MatchCondition] | None = None
    match_constraints: V1MatchResources | None = None
    mutations: list[V1Mutation] | None = None
    param_kind: V1ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: list[V1Variable] | None = None

class V1MutatingWebhook(Model):
    admission_review_versions: list[str] = ...
    client_config: AdmissionregistrationV1WebhookClientConfig = ...
    failure_policy: str | None = None
    match_conditions: list[V1MatchCondition] | None = None
    match_policy: str | None = None
    name: str = ...
    namespace_selector: V1LabelSelector | None = None
    object_selector: V1LabelSelector | None = None
    reinvocation_policy: str | None = None
    rules: list[V1RuleWithOperations] | None = None
    side_effects: str = ...
    timeout_seconds: int | None = None

class V1MutatingWebhookConfiguration(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    webhooks: list[V1MutatingWebhook] | None = None

class V1MutatingWebhookConfigurationList(Model):
    api_version: str | None = None
    items: list[V1MutatingWebhookConfiguration] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1Mutation(Model):
    apply_configuration: V1ApplyConfiguration | None = None
    json_patch: V1JSONPatch | None = None
    patch_type: str = ...

class V1NFSVolumeSource(Model):
    path: str = ...
    read_only: bool | None = None
    server: str = ...

class V1NamedRuleWithOperations(Model):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None

class V1Namespace(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1NamespaceSpec = ...
    status: V1NamespaceStatus = ...

class V1NamespaceCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1NamespaceList(Model):
    api_version: str | None = None
    items: list[V1Namespace] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1NamespaceSpec(Model):
    finalizers: list[str] | None = None

class V1NamespaceStatus(Model):
    conditions: list[V1NamespaceCondition] | None = None
    phase: str | None = None

class V1NetworkDeviceData(Model):
    hardware_address: str | None = None
    interface_name: str | None = None
    ips: list[str] | None = None

class V1NetworkPolicy(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1NetworkPolicySpec = ...

class V1NetworkPolicyEgressRule(Model):
    ports: list[V1NetworkPolicyPort] | None = None
    to: list[V1NetworkPolicyPeer] | None = None

class V1NetworkPolicyIngressRule(Model):
    _from: list[V1NetworkPolicyPeer] | None = None
    ports: list[V1NetworkPolicyPort] | None = None

class V1NetworkPolicyList(Model):
    api_version: str | None = None
    items: list[V1NetworkPolicy] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1NetworkPolicyPeer(Model):
    ip_block: V1IPBlock | None = None
    namespace_selector: V1LabelSelector | None = None
    pod_selector: V1LabelSelector | None = None

class V1NetworkPolicyPort(Model):
    end_port: int | None = None
    port: Any = ...
    protocol: str | None = None

class V1NetworkPolicySpec(Model):
    egress: list[V1NetworkPolicyEgressRule] | None = None
    ingress: list[V1NetworkPolicyIngressRule] | None = None
    pod_selector: V1LabelSelector | None = None
    policy_types: list[str] | None = None

class V1Node(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1NodeSpec = ...
    status: V1NodeStatus = ...

class V1NodeAddress(Model):
    address: str = ...
    type: str = ...

class V1NodeAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[V1PreferredSchedulingTerm] | None = None
    required_during_scheduling_ignored_during_execution: V1NodeSelector | None = None

class V1NodeAllocatableResourceClaimStatus(Model):
    containers: list[str] | None = None
    resource_claim_name: str = ...
    resources: dict[str, str] = ...

class V1NodeAllocatableResourceMapping(Model):
    allocation_multiplier: str | None = None
    capacity_key: str | None = None

class V1NodeCondition(Model):
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1NodeConfigSource(Model):
    config_map: V1ConfigMapNodeConfigSource | None = None

class V1NodeConfigStatus(Model):
    active: V1NodeConfigSource | None = None
    assigned: V1NodeConfigSource | None = None
    error: str | None = None
    last_known_good: V1NodeConfigSource | None = None

class V1NodeDaemonEndpoints(Model):
    kubelet_endpoint: V1DaemonEndpoint | None = None

class V1NodeFeatures(Model):
    supplemental_groups_policy: bool | None = None

class V1NodeList(Model):
    api_version: str | None = None
    items: list[V1Node] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1NodeRuntimeHandler(Model):
    features: V1NodeRuntimeHandlerFeatures | None = None
    name: str | None = None

class V1NodeRuntimeHandlerFeatures(Model):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None

class V1NodeSelector(Model):
    node_selector_terms: list[V1NodeSelectorTerm] = ...

class V1NodeSelectorRequirement(Model):
    key: str = ...
    operator: str = ...
    values: list[str] | None = None

class V1NodeSelectorTerm(Model):
    match_expressions: list[V1NodeSelectorRequirement] | None = None
    match_fields: list[V1NodeSelectorRequirement] | None = None

class V1NodeSpec(Model):
    config_source: V1NodeConfigSource | None = None
    external_id: str | None = None
    pod_cidr: str | None = None
    pod_cidrs: list[str] | None = None
    provider_id: str | None = None
    taints: list[V1Taint] | None = None
    unschedulable: bool | None = None

class V1NodeStatus(Model):
    addresses: list[V1NodeAddress] | None = None
    allocatable: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    conditions: list[V1NodeCondition] | None = None
    config: V1NodeConfigStatus | None = None
    daemon_endpoints: V1NodeDaemonEndpoints | None = None
    declared_features: list[str] | None = None
    features: V1NodeFeatures | None = None
    images: list[V1ContainerImage] | None = None
    node_info: V1NodeSystemInfo | None = None
    phase: str | None = None
    runtime_handlers: list[V1NodeRuntimeHandler] | None = None
    volumes_attached: list[V1AttachedVolume] | None = None
    volumes_in_use: list[str] | None = None

class V1NodeSwapStatus(Model):
    capacity: int | None = None

class V1NodeSystemInfo(Model):
    architecture: str = ...
    boot_id: str = ...
    container_runtime_version: str = ...
    kernel_version: str = ...
    kube_proxy_version: str = ...
    kubelet_version: str = ...
    machine_id: str = ...
    operating_system: str = ...
    os_image: str = ...
    swap: V1NodeSwapStatus | None = None
    system_uuid: str = ...

class V1NonResourceAttributes(Model):
    path: str | None = None
    verb: str | None = None

class V1NonResourcePolicyRule(Model):
    non_resource_urls: list[str] = ...
    verbs: list[str] = ...

class V1NonResourceRule(Model):
    non_resource_urls: list[str] | None = None
    verbs: list[str] = ...

class V1ObjectFieldSelector(Model):
    api_version: str | None = None
    field_path: str = ...

class V1ObjectMeta(Model):
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime = ...
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None
    generate_name: str | None = None
    generation: int = ...
    labels: dict[str, str] | None = None
    managed_fields: list[V1ManagedFieldsEntry] | None = None
    name: str = ...
    namespace: str = ...
    owner_references: list[V1OwnerReference] | None = None
    resource_version: str = ...
    self_link: str | None = None
    uid: str = ...

class V1ObjectReference(Model):
    api_version: str | None = None
    field_path: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None
    uid: str | None = None

class V1OpaqueDeviceConfiguration(Model):
    driver: str = ...
    parameters: Any = ...

class V1Overhead(Model):
    pod_fixed: dict[str, str] | None = None

class V1OwnerReference(Model):
    api_version: str = ...
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    kind: str = ...
    name: str = ...
    uid: str = ...

class V1ParamKind(Model):
    api_version: str | None = None
    kind: str | None = None

class V1ParamRef(Model):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: V1LabelSelector | None = None

class V1ParentReference(Model):
    group: str | None = None
    name: str = ...
    namespace: str | None = None
    resource: str = ...

class V1PersistentVolume(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1PersistentVolumeSpec = ...
    status: V1PersistentVolumeStatus = ...

class V1PersistentVolumeClaim(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1PersistentVolumeClaimSpec = ...
    status: V1PersistentVolumeClaimStatus = ...

class V1PersistentVolumeClaimCondition(Model):
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1PersistentVolumeClaimList(Model):
    api_version: str | None = None
    items: list[V1PersistentVolumeClaim] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PersistentVolumeClaimSpec(Model):
    access_modes: list[str] | None = None
    data_source: V1TypedLocalObjectReference | None = None
    data_source_ref: V1TypedObjectReference | None = None
    resources: V1VolumeResourceRequirements | None = None
    selector: V1LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None

class V1PersistentVolumeClaimStatus(Model):
    access_modes: list[str] | None = None
    allocated_resource_statuses: dict[str, str] | None = None
    allocated_resources: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    conditions: list[V1PersistentVolumeClaimCondition] | None = None
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: V1ModifyVolumeStatus | None = None
    phase: str | None = None

class V1PersistentVolumeClaimTemplate(Model):
    metadata: V1ObjectMeta = ...
    spec: V1PersistentVolumeClaimSpec = ...

class V1PersistentVolumeClaimVolumeSource(Model):
    claim_name: str = ...
    read_only: bool | None = None

class V1PersistentVolumeList(Model):
    api_version: str | None = None
    items: list[V1PersistentVolume] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PersistentVolumeSpec(Model):
    access_modes: list[str] | None = None
    aws_elastic_block_store: V1AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: V1AzureDiskVolumeSource | None = None
    azure_file: V1AzureFilePersistentVolumeSource | None = None
    capacity: dict[str, str] | None = None
    cephfs: V1CephFSPersistentVolumeSource | None = None
    cinder: V1CinderPersistentVolumeSource | None = None
    claim_ref: V1ObjectReference | None = None
    csi: V1CSIPersistentVolumeSource | None = None
    fc: V1FCVolumeSource | None = None
    flex_volume: V1FlexPersistentVolumeSource | None = None
    flocker: V1FlockerVolumeSource | None = None
    gce_persistent_disk: V1GCEPersistentDiskVolumeSource | None = None
    glusterfs: V1GlusterfsPersistentVolumeSource | None = None
    host_path: V1HostPathVolumeSource | None = None
    iscsi: V1ISCSIPersistentVolumeSource | None = None
    local: V1LocalVolumeSource | None = None
    mount_options: list[str] | None = None
    nfs: V1NFSVolumeSource | None = None
    node_affinity: V1VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str | None = None
    photon_persistent_disk: V1PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: V1PortworxVolumeSource | None = None
    quobyte: V1QuobyteVolumeSource | None = None
    rbd: V1RBDPersistentVolumeSource | None = None
    scale_io: V1ScaleIOPersistentVolumeSource | None = None
    storage_class_name: str | None = None
    storageos: V1StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    vsphere_volume: V1VsphereVirtualDiskVolumeSource | None = None

class V1PersistentVolumeStatus(Model):
    last_phase_transition_time: datetime | None = None
    message: str | None = None
    phase: str | None = None
    reason: str | None = None

class V1PhotonPersistentDiskVolumeSource(Model):
    fs_type: str | None = None
    pd_id: str = ...

class V1Pod(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1PodSpec = ...
    status: V1PodStatus = ...

class V1PodAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[V1WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[V1PodAffinityTerm] | None = None

class V1PodAffinityTerm(Model):
    label_selector: V1LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None
    namespace_selector: V1LabelSelector | None = None
    namespaces: list[str] | None = None
    topology_key: str = ...

class V1PodAntiAffinity(Model):
    preferred_during_scheduling_ignored_during_execution: list[V1WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[V1PodAffinityTerm] | None = None

class V1PodCertificateProjection(Model):
    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    key_type: str = ...
    max_expiration_seconds: int | None = None
    signer_name: str = ...
    user_annotations: dict[str, str] | None = None

class V1PodCondition(Model):
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1PodDNSConfig(Model):
    nameservers: list[str] | None = None
    options: list[V1PodDNSConfigOption] | None = None
    searches: list[str] | None = None

class V1PodDNSConfigOption(Model):
    name: str | None = None
    value: str | None = None

class V1PodDisruptionBudget(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1PodDisruptionBudgetSpec = ...
    status: V1PodDisruptionBudgetStatus = ...

class V1PodDisruptionBudgetList(Model):
    api_version: str | None = None
    items: list[V1PodDisruptionBudget] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PodDisruptionBudgetSpec(Model):
    max_unavailable: Any = ...
    min_available: Any = ...
    selector: V1LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None

class V1PodDisruptionBudgetStatus(Model):
    conditions: list[V1Condition] | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disrupted_pods: dict[str, datetime] | None = None
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None

class V1PodExtendedResourceClaimStatus(Model):
    request_mappings: list[V1ContainerExtendedResourceRequest] = ...
    resource_claim_name: str = ...

class V1PodFailurePolicy(Model):
    rules: list[V1PodFailurePolicyRule] = ...

class V1PodFailurePolicyOnExitCodesRequirement(Model):
    container_name: str | None = None
    operator: str = ...
    values: list[int] = ...

class V1PodFailurePolicyOnPodConditionsPattern(Model):
    status: str | None = None
    type: str = ...

class V1PodFailurePolicyRule(Model):
    action: str = ...
    on_exit_codes: V1PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: list[V1PodFailurePolicyOnPodConditionsPattern] | None = None

class V1PodIP(Model):
    ip: str = ...

class V1PodList(Model):
    api_version: str | None = None
    items: list[V1Pod] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PodOS(Model):
    name: str = ...

class V1PodReadinessGate(Model):
    condition_type: str = ...

class V1PodResourceClaim(Model):
    name: str = ...
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

class V1PodResourceClaimStatus(Model):
    name: str = ...
    resource_claim_name: str | None = None

class V1PodSchedulingGate(Model):
    name: str = ...

class V1PodSchedulingGroup(Model):
    pod_group_name: str | None = None

class V1PodSecurityContext(Model):
    app_armor_profile: V1AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: V1SELinuxOptions | None = None
    seccomp_profile: V1SeccompProfile | None = None
    supplemental_groups: list[int] | None = None
    supplemental_groups_policy: str | None = None
    sysctls: list[V1Sysctl] | None = None
    windows_options: V1WindowsSecurityContextOptions | None = None

class V1PodSpec(Model):
    active_deadline_seconds: int | None = None
    affinity: V1Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: list[V1Container] = ...
    dns_config: V1PodDNSConfig | None = None
    dns_policy: str | None = None
    enable_service_links: bool | None = None
    ephemeral_containers: list[V1EphemeralContainer] | None = None
    host_aliases: list[V1HostAlias] | None = None
    host_ipc: bool | None = None
    host_network: bool | None = None
    host_pid: bool | None = None
    host_users: bool | None = None
    hostname: str | None = None
    hostname_override: str | None = None
    image_pull_secrets: list[V1LocalObjectReference] | None = None
    init_containers: list[V1Container] | None = None
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    os: V1PodOS | None = None
    overhead: dict[str, str] | None = None
    preemption_policy: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    readiness_gates: list[V1PodReadinessGate] | None = None
    resource_claims: list[V1PodResourceClaim] | None = None
    resources: V1ResourceRequirements | None = None
    restart_policy: str | None = None
    runtime_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[V1PodSchedulingGate] | None = None
    scheduling_group: V1PodSchedulingGroup | None = None
    security_context: V1PodSecurityContext | None = None
    service_account: str | None = None
    service_account_name: str | None = None
    set_hostname_as_fqdn: bool | None = None
    share_process_namespace: bool | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: int | None = None
    tolerations: list[V1Toleration] | None = None
    topology_spread_constraints: list[V1TopologySpreadConstraint] | None = None
    volumes: list[V1Volume] | None = None

class V1PodStatus(Model):
    allocated_resources: dict[str, str] | None = None
    conditions: list[V1PodCondition] | None = None
    container_statuses: list[V1ContainerStatus] | None = None
    ephemeral_container_statuses: list[V1ContainerStatus] | None = None
    extended_resource_claim_status: V1PodExtendedResourceClaimStatus | None = None
    host_ip: str | None = None
    host_ips: list[V1HostIP] | None = None
    init_container_statuses: list[V1ContainerStatus] | None = None
    message: str | None = None
    node_allocatable_resource_claim_statuses: list[V1NodeAllocatableResourceClaimStatus] | None = None
    nominated_node_name: str | None = None
    observed_generation: int | None = None
    phase: str | None = None
    pod_ip: str | None = None
    pod_ips: list[V1PodIP] | None = None
    qos_class: str | None = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: list[V1PodResourceClaimStatus] | None = None
    resources: V1ResourceRequirements | None = None
    start_time: datetime | None = None

class V1PodTemplate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    template: V1PodTemplateSpec | None = None

class V1PodTemplateList(Model):
    api_version: str | None = None
    items: list[V1PodTemplate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PodTemplateSpec(Model):
    metadata: V1ObjectMeta = ...
    spec: V1PodSpec = ...

class V1PolicyRule(Model):
    api_groups: list[str] | None = None
    non_resource_urls: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    verbs: list[str] = ...

class V1PolicyRulesWithSubjects(Model):
    non_resource_rules: list[V1NonResourcePolicyRule] | None = None
    resource_rules: list[V1ResourcePolicyRule] | None = None
    subjects: list[FlowcontrolV1Subject] = ...

class V1PortStatus(Model):
    error: str | None = None
    port: int = ...
    protocol: str = ...

class V1PortworxVolumeSource(Model):
    fs_type: str | None = None
    read_only: bool | None = None
    volume_id: str = ...

class V1Preconditions(Model):
    resource_version: str | None = None
    uid: str | None = None

class V1PreferredSchedulingTerm(Model):
    preference: V1NodeSelectorTerm = ...
    weight: int = ...

class V1PriorityClass(Model):
    api_version: str | None = None
    description: str | None = None
    global_default: bool | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    preemption_policy: str | None = None
    value: int | None = None

class V1PriorityClassList(Model):
    api_version: str | None = None
    items: list[V1PriorityClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PriorityLevelConfiguration(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1PriorityLevelConfigurationSpec = ...
    status: V1PriorityLevelConfigurationStatus = ...

class V1PriorityLevelConfigurationCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None

class V1PriorityLevelConfigurationList(Model):
    api_version: str | None = None
    items: list[V1PriorityLevelConfiguration] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1PriorityLevelConfigurationReference(Model):
    name: str = ...

class V1PriorityLevelConfigurationSpec(Model):
    exempt: V1ExemptPriorityLevelConfiguration | None = None
    limited: V1LimitedPriorityLevelConfiguration | None = None
    type: str = ...

class V1PriorityLevelConfigurationStatus(Model):
    conditions: list[V1PriorityLevelConfigurationCondition] | None = None

class V1Probe(Model):
    _exec: V1ExecAction | None = None
    failure_threshold: int | None = None
    grpc: V1GRPCAction | None = None
    http_get: V1HTTPGetAction | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    tcp_socket: V1TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: int | None = None

class V1ProjectedVolumeSource(Model):
    default_mode: int | None = None
    sources: list[V1VolumeProjection] | None = None

class V1QueuingConfiguration(Model):
    hand_size: int | None = None
    queue_length_limit: int | None = None
    queues: int | None = None

class V1QuobyteVolumeSource(Model):
    group: str | None = None
    read_only: bool | None = None
    registry: str = ...
    tenant: str | None = None
    user: str | None = None
    volume: str = ...

class V1RBDPersistentVolumeSource(Model):
    fs_type: str | None = None
    image: str = ...
    keyring: str | None = None
    monitors: list[str] = ...
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: V1SecretReference | None = None
    user: str | None = None

class V1RBDVolumeSource(Model):
    fs_type: str | None = None
    image: str = ...
    keyring: str | None = None
    monitors: list[str] = ...
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference | None = None
    user: str | None = None

class V1ReplicaSet(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ReplicaSetSpec = ...
    status: V1ReplicaSetStatus = ...

class V1ReplicaSetCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1ReplicaSetList(Model):
    api_version: str | None = None
    items: list[V1ReplicaSet] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ReplicaSetSpec(Model):
    min_ready_seconds: int | None = None
    replicas: int | None = None
    selector: V1LabelSelector = ...
    template: V1PodTemplateSpec = ...

class V1ReplicaSetStatus(Model):
    available_replicas: int | None = None
    conditions: list[V1ReplicaSetCondition] | None = None
    fully_labeled_replicas: int | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int = ...
    terminating_replicas: int | None = None

class V1ReplicationController(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ReplicationControllerSpec = ...
    status: V1ReplicationControllerStatus = ...

class V1ReplicationControllerCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1ReplicationControllerList(Model):
    api_version: str | None = None
    items: list[V1ReplicationController] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ReplicationControllerSpec(Model):
    min_ready_seconds: int | None = None
    replicas: int | None = None
    selector: dict[str, str] | None = None
    template: V1PodTemplateSpec | None = None

class V1ReplicationControllerStatus(Model):
    available_replicas: int | None = None
    conditions: list[V1ReplicationControllerCondition] | None = None
    fully_labeled_replicas: int | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int = ...

class V1ResourceAttributes(Model):
    field_selector: V1FieldSelectorAttributes | None = None
    group: str | None = None
    label_selector: V1LabelSelectorAttributes | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None

class V1ResourceClaimConsumerReference(Model):
    api_group: str | None = None
    name: str = ...
    resource: str = ...
    uid: str = ...

class V1ResourceClaimList(Model):
    api_version: str | None = None
    items: list[ResourceV1ResourceClaim] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ResourceClaimSpec(Model):
    devices: V1DeviceClaim | None = None

class V1ResourceClaimStatus(Model):
    allocation: V1AllocationResult | None = None
    devices: list[V1AllocatedDeviceStatus] | None = None
    reserved_for: list[V1ResourceClaimConsumerReference] | None = None

class V1ResourceClaimTemplate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ResourceClaimTemplateSpec = ...

class V1ResourceClaimTemplateList(Model):
    api_version: str | None = None
    items: list[V1ResourceClaimTemplate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ResourceClaimTemplateSpec(Model):
    metadata: V1ObjectMeta = ...
    spec: V1ResourceClaimSpec = ...

class V1ResourceFieldSelector(Model):
    container_name: str | None = None
    divisor: str | None = None
    resource: str = ...

class V1ResourceHealth(Model):
    health: str | None = None
    message: str | None = None
    resource_id: str = ...

class V1ResourcePolicyRule(Model):
    api_groups: list[str] = ...
    cluster_scope: bool | None = None
    namespaces: list[str] | None = None
    resources: list[str] = ...
    verbs: list[str] = ...

class V1ResourcePool(Model):
    generation: int = ...
    name: str = ...
    resource_slice_count: int = ...

class V1ResourceQuota(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ResourceQuotaSpec = ...
    status: V1ResourceQuotaStatus = ...

class V1ResourceQuotaList(Model):
    api_version: str | None = None
    items: list[V1ResourceQuota] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ResourceQuotaSpec(Model):
    hard: dict[str, str] | None = None
    scope_selector: V1ScopeSelector | None = None
    scopes: list[str] | None = None

class V1ResourceQuotaStatus(Model):
    hard: dict[str, str] | None = None
    used: dict[str, str] | None = None

class V1ResourceRequirements(Model):
    claims: list[CoreV1ResourceClaim] | None = None
    limits: dict[str, str] | None = None
    requests: dict[str, str] | None = None

class V1ResourceRule(Model):
    api_groups: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    verbs: list[str] = ...

class V1ResourceSlice(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ResourceSliceSpec = ...

class V1ResourceSliceList(Model):
    api_version: str | None = None
    items: list[V1ResourceSlice] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ResourceSliceSpec(Model):
    all_nodes: bool | None = None
    devices: list[V1Device] | None = None
    driver: str = ...
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    per_device_node_selection: bool | None = None
    pool: V1ResourcePool = ...
    shared_counters: list[V1CounterSet] | None = None

class V1ResourceStatus(Model):
    name: str = ...
    resources: list[V1ResourceHealth] | None = None

class V1Role(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    rules: list[V1PolicyRule] | None = None

class V1RoleBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    role_ref: V1RoleRef = ...
    subjects: list[RbacV1Subject] | None = None

class V1RoleBindingList(Model):
    api_version: str | None = None
    items: list[V1RoleBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1RoleList(Model):
    api_version: str | None = None
    items: list[V1Role] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1RoleRef(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...

class V1RollingUpdateDaemonSet(Model):
    max_surge: Any = ...
    max_unavailable: Any = ...

class V1RollingUpdateDeployment(Model):
    max_surge: Any = ...
    max_unavailable: Any = ...

class V1RollingUpdateStatefulSetStrategy(Model):
    max_unavailable: Any = ...
    partition: int | None = None

class V1RuleWithOperations(Model):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None

class V1RuntimeClass(Model):
    api_version: str | None = None
    handler: str = ...
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    overhead: V1Overhead | None = None
    scheduling: V1Scheduling | None = None

class V1RuntimeClassList(Model):
    api_version: str | None = None
    items: list[V1RuntimeClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1SELinuxOptions(Model):
    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None

class V1Scale(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ScaleSpec = ...
    status: V1ScaleStatus = ...

class V1ScaleIOPersistentVolumeSource(Model):
    fs_type: str | None = None
    gateway: str = ...
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: V1SecretReference = ...
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str = ...
    volume_name: str | None = None

class V1ScaleIOVolumeSource(Model):
    fs_type: str | None = None
    gateway: str = ...
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference = ...
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str = ...
    volume_name: str | None = None

class V1ScaleSpec(Model):
    replicas: int | None = None

class V1ScaleStatus(Model):
    replicas: int = ...
    selector: str | None = None

class V1Scheduling(Model):
    node_selector: dict[str, str] | None = None
    tolerations: list[V1Toleration] | None = None

class V1ScopeSelector(Model):
    match_expressions: list[V1ScopedResourceSelectorRequirement] | None = None

class V1ScopedResourceSelectorRequirement(Model):
    operator: str = ...
    scope_name: str = ...
    values: list[str] | None = None

class V1SeccompProfile(Model):
    localhost_profile: str | None = None
    type: str = ...

class V1Secret(Model):
    api_version: str | None = None
    data: dict[str, str] | None = None
    immutable: bool | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    string_data: dict[str, str] | None = None
    type: str | None = None

class V1SecretEnvSource(Model):
    name: str | None = None
    optional: bool | None = None

class V1SecretKeySelector(Model):
    key: str = ...
    name: str | None = None
    optional: bool | None = None

class V1SecretList(Model):
    api_version: str | None = None
    items: list[V1Secret] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1SecretProjection(Model):
    items: list[V1KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None

class V1SecretReference(Model):
    name: str | None = None
    namespace: str | None = None

class V1SecretVolumeSource(Model):
    default_mode: int | None = None
    items: list[V1KeyToPath] | None = None
    optional: bool | None = None
    secret_name: str | None = None

class V1SecurityContext(Model):
    allow_privilege_escalation: bool | None = None
    app_armor_profile: V1AppArmorProfile | None = None
    capabilities: V1Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_options: V1SELinuxOptions | None = None
    seccomp_profile: V1SeccompProfile | None = None
    windows_options: V1WindowsSecurityContextOptions | None = None

class V1SelectableField(Model):
    json_path: str = ...

class V1SelfSubjectAccessReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1SelfSubjectAccessReviewSpec = ...
    status: V1SubjectAccessReviewStatus = ...

class V1SelfSubjectAccessReviewSpec(Model):
    non_resource_attributes: V1NonResourceAttributes | None = None
    resource_attributes: V1ResourceAttributes | None = None

class V1SelfSubjectReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    status: V1SelfSubjectReviewStatus = ...

class V1SelfSubjectReviewStatus(Model):
    user_info: V1UserInfo | None = None

class V1SelfSubjectRulesReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1SelfSubjectRulesReviewSpec = ...
    status: V1SubjectRulesReviewStatus = ...

class V1SelfSubjectRulesReviewSpec(Model):
    namespace: str | None = None

class V1ServerAddressByClientCIDR(Model):
    client_cidr: str = ...
    server_address: str = ...

class V1Service(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ServiceSpec = ...
    status: V1ServiceStatus = ...

class V1ServiceAccount(Model):
    api_version: str | None = None
    automount_service_account_token: bool | None = None
    image_pull_secrets: list[V1LocalObjectReference] | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    secrets: list[V1ObjectReference] | None = None

class V1ServiceAccountList(Model):
    api_version: str | None = None
    items: list[V1ServiceAccount] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ServiceAccountSubject(Model):
    name: str = ...
    namespace: str = ...

class V1ServiceAccountTokenProjection(Model):
    audience: str | None = None
    expiration_seconds: int | None = None
    path: str = ...

class V1ServiceBackendPort(Model):
    name: str | None = None
    number: int | None = None

class V1ServiceCIDR(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ServiceCIDRSpec = ...
    status: V1ServiceCIDRStatus = ...

class V1ServiceCIDRList(Model):
    api_version: str | None = None
    items: list[V1ServiceCIDR] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ServiceCIDRSpec(Model):
    cidrs: list[str] | None = None

class V1ServiceCIDRStatus(Model):
    conditions: list[V1Condition] | None = None

class V1ServiceList(Model):
    api_version: str | None = None
    items: list[V1Service] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ServicePort(Model):
    app_protocol: str | None = None
    name: str | None = None
    node_port: int | None = None
    port: int = ...
    protocol: str | None = None
    target_port: Any = ...

class V1ServiceSpec(Model):
    allocate_load_balancer_node_ports: bool | None = None
    cluster_ip: str | None = None
    cluster_ips: list[str] | None = None
    external_ips: list[str] | None = None
    external_name: str | None = None
    external_traffic_policy: str | None = None
    health_check_node_port: int | None = None
    internal_traffic_policy: str | None = None
    ip_families: list[str] | None = None
    ip_family_policy: str | None = None
    load_balancer_class: str | None = None
    load_balancer_ip: str | None = None
    load_balancer_source_ranges: list[str] | None = None
    ports: list[V1ServicePort] | None = None
    publish_not_ready_addresses: bool | None = None
    selector: dict[str, str] | None = None
    session_affinity: str | None = None
    session_affinity_config: V1SessionAffinityConfig | None = None
    traffic_distribution: str | None = None
    type: str | None = None

class V1ServiceStatus(Model):
    conditions: list[V1Condition] | None = None
    load_balancer: V1LoadBalancerStatus | None = None

class V1SessionAffinityConfig(Model):
    client_ip: V1ClientIPConfig | None = None

class V1ShardInfo(Model):
    selector: str = ...

class V1SleepAction(Model):
    seconds: int = ...

class V1StatefulSet(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1StatefulSetSpec = ...
    status: V1StatefulSetStatus = ...

class V1StatefulSetCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V1StatefulSetList(Model):
    api_version: str | None = None
    items: list[V1StatefulSet] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1StatefulSetOrdinals(Model):
    start: int | None = None

class V1StatefulSetPersistentVolumeClaimRetentionPolicy(Model):
    when_deleted: str | None = None
    when_scaled: str | None = None

class V1StatefulSetSpec(Model):
    min_ready_seconds: int | None = None
    ordinals: V1StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: V1StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    pod_management_policy: str | None = None
    replicas: int | None = None
    revision_history_limit: int | None = None
    selector: V1LabelSelector = ...
    service_name: str | None = None
    template: V1PodTemplateSpec = ...
    update_strategy: V1StatefulSetUpdateStrategy | None = None
    volume_claim_templates: list[V1PersistentVolumeClaim] | None = None

class V1StatefulSetStatus(Model):
    available_replicas: int | None = None
    collision_count: int | None = None
    conditions: list[V1StatefulSetCondition] | None = None
    current_replicas: int | None = None
    current_revision: str | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int = ...
    update_revision: str | None = None
    updated_replicas: int | None = None

class V1StatefulSetUpdateStrategy(Model):
    rolling_update: V1RollingUpdateStatefulSetStrategy | None = None
    type: str | None = None

class V1Status(Model):
    api_version: str | None = None
    code: int | None = None
    details: V1StatusDetails | None = None
    kind: str | None = None
    message: str | None = None
    metadata: V1ListMeta = ...
    reason: str | None = None
    status: str | None = None

class V1StatusCause(Model):
    field: str | None = None
    message: str | None = None
    reason: str | None = None

class V1StatusDetails(Model):
    causes: list[V1StatusCause] | None = None
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    retry_after_seconds: int | None = None
    uid: str | None = None

class V1StorageClass(Model):
    allow_volume_expansion: bool | None = None
    allowed_topologies: list[V1TopologySelectorTerm] | None = None
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    mount_options: list[str] | None = None
    parameters: dict[str, str] | None = None
    provisioner: str = ...
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None

class V1StorageClassList(Model):
    api_version: str | None = None
    items: list[V1StorageClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1StorageOSPersistentVolumeSource(Model):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: V1ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None

class V1StorageOSVolumeSource(Model):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: V1LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None

class V1SubjectAccessReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1SubjectAccessReviewSpec = ...
    status: V1SubjectAccessReviewStatus = ...

class V1SubjectAccessReviewSpec(Model):
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    non_resource_attributes: V1NonResourceAttributes | None = None
    resource_attributes: V1ResourceAttributes | None = None
    uid: str | None = None
    user: str | None = None

class V1SubjectAccessReviewStatus(Model):
    allowed: bool = ...
    denied: bool | None = None
    evaluation_error: str | None = None
    reason: str | None = None

class V1SubjectRulesReviewStatus(Model):
    evaluation_error: str | None = None
    incomplete: bool = ...
    non_resource_rules: list[V1NonResourceRule] = ...
    resource_rules: list[V1ResourceRule] = ...

class V1SuccessPolicy(Model):
    rules: list[V1SuccessPolicyRule] = ...

class V1SuccessPolicyRule(Model):
    succeeded_count: int | None = None
    succeeded_indexes: str | None = None

class V1Sysctl(Model):
    name: str = ...
    value: str = ...

class V1TCPSocketAction(Model):
    host: str | None = None
    port: Any = ...

class V1Taint(Model):
    effect: str = ...
    key: str = ...
    time_added: datetime | None = None
    value: str | None = None

class V1TokenRequestSpec(Model):
    audiences: list[str] | None = None
    bound_object_ref: V1BoundObjectReference | None = None
    expiration_seconds: int | None = None

class V1TokenRequestStatus(Model):
    expiration_timestamp: datetime | None = None
    token: str | None = None

class V1TokenReview(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1TokenReviewSpec = ...
    status: V1TokenReviewStatus = ...

class V1TokenReviewSpec(Model):
    audiences: list[str] | None = None
    token: str = ...

class V1TokenReviewStatus(Model):
    audiences: list[str] | None = None
    authenticated: bool | None = None
    error: str | None = None
    user: V1UserInfo | None = None

class V1Toleration(Model):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None

class V1TopologySelectorLabelRequirement(Model):
    key: str = ...
    values: list[str] = ...

class V1TopologySelectorTerm(Model):
    match_label_expressions: list[V1TopologySelectorLabelRequirement] | None = None

class V1TopologySpreadConstraint(Model):
    label_selector: V1LabelSelector | None = None
    match_label_keys: list[str] | None = None
    max_skew: int = ...
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    topology_key: str = ...
    when_unsatisfiable: str = ...

class V1TypeChecking(Model):
    expression_warnings: list[V1ExpressionWarning] | None = None

class V1TypedLocalObjectReference(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...

class V1TypedObjectReference(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...
    namespace: str | None = None

class V1UncountedTerminatedPods(Model):
    failed: list[str] | None = None
    succeeded: list[str] | None = None

class V1UserInfo(Model):
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    uid: str | None = None
    username: str | None = None

class V1UserSubject(Model):
    name: str = ...

class V1ValidatingAdmissionPolicy(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ValidatingAdmissionPolicySpec = ...
    status: V1ValidatingAdmissionPolicyStatus = ...

class V1ValidatingAdmissionPolicyBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1ValidatingAdmissionPolicyBindingSpec = ...

class V1ValidatingAdmissionPolicyBindingList(Model):
    api_version: str | None = None
    items: list[V1ValidatingAdmissionPolicyBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ValidatingAdmissionPolicyBindingSpec(Model):
    match_resources: V1MatchResources | None = None
    param_ref: V1ParamRef | None = None
    policy_name: str = ...
    validation_actions: list[str] = ...

class V1ValidatingAdmissionPolicyList(Model):
    api_version: str | None = None
    items: list[V1ValidatingAdmissionPolicy] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1ValidatingAdmissionPolicySpec(Model):
    audit_annotations: list[V1AuditAnnotation] | None = None
    failure_policy: str | None = None
    match_conditions: list[V1MatchCondition] | None = None
    match_constraints: V1MatchResources | None = None
    param_kind: V1ParamKind | None = None
    validations: list[V1Validation] | None = None
    variables: list[V1Variable] | None = None

class V1ValidatingAdmissionPolicyStatus(Model):
    conditions: list[V1Condition] | None = None
    observed_generation: int | None = None
    type_checking: V1TypeChecking | None = None

class V1ValidatingWebhook(Model):
    admission_review_versions: list[str] = ...
    client_config: AdmissionregistrationV1WebhookClientConfig = ...
    failure_policy: str | None = None
    match_conditions: list[V1MatchCondition] | None = None
    match_policy: str | None = None
    name: str = ...
    namespace_selector: V1LabelSelector | None = None
    object_selector: V1LabelSelector | None = None
    rules: list[V1RuleWithOperations] | None = None
    side_effects: str = ...
    timeout_seconds: int | None = None

class V1ValidatingWebhookConfiguration(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    webhooks: list[V1ValidatingWebhook] | None = None

class V1ValidatingWebhookConfigurationList(Model):
    api_version: str | None = None
    items: list[V1ValidatingWebhookConfiguration] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1Validation(Model):
    expression: str = ...
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None

class V1ValidationRule(Model):
    field_path: str | None = None
    message: str | None = None
    message_expression: str | None = None
    optional_old_self: bool | None = None
    reason: str | None = None
    rule: str = ...

class V1Variable(Model):
    expression: str = ...
    name: str = ...

class V1Volume(Model):
    aws_elastic_block_store: V1AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: V1AzureDiskVolumeSource | None = None
    azure_file: V1AzureFileVolumeSource | None = None
    cephfs: V1CephFSVolumeSource | None = None
    cinder: V1CinderVolumeSource | None = None
    config_map: V1ConfigMapVolumeSource | None = None
    csi: V1CSIVolumeSource | None = None
    downward_api: V1DownwardAPIVolumeSource | None = None
    empty_dir: V1EmptyDirVolumeSource | None = None
    ephemeral: V1EphemeralVolumeSource | None = None
    fc: V1FCVolumeSource | None = None
    flex_volume: V1FlexVolumeSource | None = None
    flocker: V1FlockerVolumeSource | None = None
    gce_persistent_disk: V1GCEPersistentDiskVolumeSource | None = None
    git_repo: V1GitRepoVolumeSource | None = None
    glusterfs: V1GlusterfsVolumeSource | None = None
    host_path: V1HostPathVolumeSource | None = None
    image: V1ImageVolumeSource | None = None
    iscsi: V1ISCSIVolumeSource | None = None
    name: str = ...
    nfs: V1NFSVolumeSource | None = None
    persistent_volume_claim: V1PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: V1PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: V1PortworxVolumeSource | None = None
    projected: V1ProjectedVolumeSource | None = None
    quobyte: V1QuobyteVolumeSource | None = None
    rbd: V1RBDVolumeSource | None = None
    scale_io: V1ScaleIOVolumeSource | None = None
    secret: V1SecretVolumeSource | None = None
    storageos: V1StorageOSVolumeSource | None = None
    vsphere_volume: V1VsphereVirtualDiskVolumeSource | None = None

class V1VolumeAttachment(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1VolumeAttachmentSpec = ...
    status: V1VolumeAttachmentStatus = ...

class V1VolumeAttachmentList(Model):
    api_version: str | None = None
    items: list[V1VolumeAttachment] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1VolumeAttachmentSource(Model):
    inline_volume_spec: V1PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None

class V1VolumeAttachmentSpec(Model):
    attacher: str = ...
    node_name: str = ...
    source: V1VolumeAttachmentSource = ...

class V1VolumeAttachmentStatus(Model):
    attach_error: V1VolumeError | None = None
    attached: bool = ...
    attachment_metadata: dict[str, str] | None = None
    detach_error: V1VolumeError | None = None

class V1VolumeAttributesClass(Model):
    api_version: str | None = None
    driver_name: str = ...
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    parameters: dict[str, str] | None = None

class V1VolumeAttributesClassList(Model):
    api_version: str | None = None
    items: list[V1VolumeAttributesClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1VolumeDevice(Model):
    device_path: str = ...
    name: str = ...

class V1VolumeError(Model):
    error_code: int | None = None
    message: str | None = None
    time: datetime | None = None

class V1VolumeMount(Model):
    mount_path: str = ...
    mount_propagation: str | None = None
    name: str = ...
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None

class V1VolumeMountStatus(Model):
    mount_path: str = ...
    name: str = ...
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: V1VolumeStatus | None = None

class V1VolumeNodeAffinity(Model):
    required: V1NodeSelector | None = None

class V1VolumeNodeResources(Model):
    count: int | None = None

class V1VolumeProjection(Model):
    cluster_trust_bundle: V1ClusterTrustBundleProjection | None = None
    config_map: V1ConfigMapProjection | None = None
    downward_api: V1DownwardAPIProjection | None = None
    pod_certificate: V1PodCertificateProjection | None = None
    secret: V1SecretProjection | None = None
    service_account_token: V1ServiceAccountTokenProjection | None = None

class V1VolumeResourceRequirements(Model):
    limits: dict[str, str] | None = None
    requests: dict[str, str] | None = None

class V1VolumeStatus(Model):
    image: V1ImageVolumeStatus | None = None

class V1VsphereVirtualDiskVolumeSource(Model):
    fs_type: str | None = None
    storage_policy_id: str | None = None
    storage_policy_name: str | None = None
    volume_path: str = ...

class V1WatchEvent(Model):
    object: Any = ...
    type: str = ...

class V1WebhookConversion(Model):
    client_config: ApiextensionsV1WebhookClientConfig | None = None
    conversion_review_versions: list[str] = ...

class V1WeightedPodAffinityTerm(Model):
    pod_affinity_term: V1PodAffinityTerm = ...
    weight: int = ...

class V1WindowsSecurityContextOptions(Model):
    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None

class V1alpha1ApplyConfiguration(Model):
    expression: str | None = None

class V1alpha1ClusterTrustBundle(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha1ClusterTrustBundleSpec = ...

class V1alpha1ClusterTrustBundleList(Model):
    api_version: str | None = None
    items: list[V1alpha1ClusterTrustBundle] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha1ClusterTrustBundleSpec(Model):
    signer_name: str | None = None
    trust_bundle: str = ...

class V1alpha1JSONPatch(Model):
    expression: str | None = None

class V1alpha1MatchCondition(Model):
    expression: str = ...
    name: str = ...

class V1alpha1MatchResources(Model):
    exclude_resource_rules: list[V1alpha1NamedRuleWithOperations] | None = None
    match_policy: str | None = None
    namespace_selector: V1LabelSelector | None = None
    object_selector: V1LabelSelector | None = None
    resource_rules: list[V1alpha1NamedRuleWithOperations] | None = None

class V1alpha1MutatingAdmissionPolicy(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha1MutatingAdmissionPolicySpec = ...

class V1alpha1MutatingAdmissionPolicyBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha1MutatingAdmissionPolicyBindingSpec = ...

class V1alpha1MutatingAdmissionPolicyBindingList(Model):
    api_version: str | None = None
    items: list[V1alpha1MutatingAdmissionPolicyBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha1MutatingAdmissionPolicyBindingSpec(Model):
    match_resources: V1alpha1MatchResources | None = None
    param_ref: V1alpha1ParamRef | None = None
    policy_name: str | None = None

class V1alpha1MutatingAdmissionPolicyList(Model):
    api_version: str | None = None
    items: list[V1alpha1MutatingAdmissionPolicy] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha1MutatingAdmissionPolicySpec(Model):
    failure_policy: str | None = None
    match_conditions: list[V1alpha1MatchCondition] | None = None
    match_constraints: V1alpha1MatchResources | None = None
    mutations: list[V1alpha1Mutation] | None = None
    param_kind: V1alpha1ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: list[V1alpha1Variable] | None = None

class V1alpha1Mutation(Model):
    apply_configuration: V1alpha1ApplyConfiguration | None = None
    json_patch: V1alpha1JSONPatch | None = None
    patch_type: str = ...

class V1alpha1NamedRuleWithOperations(Model):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None

class V1alpha1ParamKind(Model):
    api_version: str | None = None
    kind: str | None = None

class V1alpha1ParamRef(Model):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: V1LabelSelector | None = None

class V1alpha1ServerStorageVersion(Model):
    api_server_id: str = ...
    decodable_versions: list[str] = ...
    encoding_version: str = ...
    served_versions: list[str] | None = None

class V1alpha1StorageVersion(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: Any = ...
    status: V1alpha1StorageVersionStatus = ...

class V1alpha1StorageVersionCondition(Model):
    last_transition_time: datetime | None = None
    message: str = ...
    observed_generation: int | None = None
    reason: str = ...
    status: str = ...
    type: str = ...

class V1alpha1StorageVersionList(Model):
    api_version: str | None = None
    items: list[V1alpha1StorageVersion] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha1StorageVersionStatus(Model):
    common_encoding_version: str | None = None
    conditions: list[V1alpha1StorageVersionCondition] | None = None
    storage_versions: list[V1alpha1ServerStorageVersion] | None = None

class V1alpha1Variable(Model):
    expression: str = ...
    name: str = ...

class V1alpha2GangSchedulingPolicy(Model):
    min_count: int = ...

class V1alpha2LeaseCandidate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha2LeaseCandidateSpec = ...

class V1alpha2LeaseCandidateList(Model):
    api_version: str | None = None
    items: list[V1alpha2LeaseCandidate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha2LeaseCandidateSpec(Model):
    binary_version: str = ...
    emulation_version: str | None = None
    lease_name: str = ...
    ping_time: datetime | None = None
    renew_time: datetime | None = None
    strategy: str = ...

class V1alpha2PodGroup(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha2PodGroupSpec = ...
    status: V1alpha2PodGroupStatus = ...

class V1alpha2PodGroupList(Model):
    api_version: str | None = None
    items: list[V1alpha2PodGroup] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha2PodGroupResourceClaim(Model):
    name: str = ...
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

class V1alpha2PodGroupResourceClaimStatus(Model):
    name: str = ...
    resource_claim_name: str | None = None

class V1alpha2PodGroupSchedulingConstraints(Model):
    topology: list[V1alpha2TopologyConstraint] | None = None

class V1alpha2PodGroupSchedulingPolicy(Model):
    basic: Any = ...
    gang: V1alpha2GangSchedulingPolicy | None = None

class V1alpha2PodGroupSpec(Model):
    disruption_mode: str | None = None
    pod_group_template_ref: V1alpha2PodGroupTemplateReference | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    resource_claims: list[V1alpha2PodGroupResourceClaim] | None = None
    scheduling_constraints: V1alpha2PodGroupSchedulingConstraints | None = None
    scheduling_policy: V1alpha2PodGroupSchedulingPolicy = ...

class V1alpha2PodGroupStatus(Model):
    conditions: list[V1Condition] | None = None
    resource_claim_statuses: list[V1alpha2PodGroupResourceClaimStatus] | None = None

class V1alpha2PodGroupTemplate(Model):
    disruption_mode: str | None = None
    name: str = ...
    priority: int | None = None
    priority_class_name: str | None = None
    resource_claims: list[V1alpha2PodGroupResourceClaim] | None = None
    scheduling_constraints: V1alpha2PodGroupSchedulingConstraints | None = None
    scheduling_policy: V1alpha2PodGroupSchedulingPolicy = ...

class V1alpha2PodGroupTemplateReference(Model):
    workload: V1alpha2WorkloadPodGroupTemplateReference | None = None

class V1alpha2TopologyConstraint(Model):
    key: str = ...

class V1alpha2TypedLocalObjectReference(Model):
    api_group: str | None = None
    kind: str = ...
    name: str = ...

class V1alpha2Workload(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha2WorkloadSpec = ...

class V1alpha2WorkloadList(Model):
    api_version: str | None = None
    items: list[V1alpha2Workload] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha2WorkloadPodGroupTemplateReference(Model):
    pod_group_template_name: str = ...
    workload_name: str = ...

class V1alpha2WorkloadSpec(Model):
    controller_ref: V1alpha2TypedLocalObjectReference | None = None
    pod_group_templates: list[V1alpha2PodGroupTemplate] = ...

class V1alpha3DeviceTaint(Model):
    effect: str = ...
    key: str = ...
    time_added: datetime | None = None
    value: str | None = None

class V1alpha3DeviceTaintRule(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha3DeviceTaintRuleSpec = ...
    status: V1alpha3DeviceTaintRuleStatus = ...

class V1alpha3DeviceTaintRuleList(Model):
    api_version: str | None = None
    items: list[V1alpha3DeviceTaintRule] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha3DeviceTaintRuleSpec(Model):
    device_selector: V1alpha3DeviceTaintSelector | None = None
    taint: V1alpha3DeviceTaint = ...

class V1alpha3DeviceTaintRuleStatus(Model):
    conditions: list[V1Condition] | None = None

class V1alpha3DeviceTaintSelector(Model):
    device: str | None = None
    driver: str | None = None
    pool: str | None = None

class V1alpha3PoolStatus(Model):
    allocated_devices: int | None = None
    available_devices: int | None = None
    driver: str = ...
    generation: int = ...
    node_name: str | None = None
    pool_name: str = ...
    resource_slice_count: int | None = None
    total_devices: int | None = None
    unavailable_devices: int | None = None
    validation_error: str | None = None

class V1alpha3ResourcePoolStatusRequest(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1alpha3ResourcePoolStatusRequestSpec = ...
    status: V1alpha3ResourcePoolStatusRequestStatus = ...

class V1alpha3ResourcePoolStatusRequestList(Model):
    api_version: str | None = None
    items: list[V1alpha3ResourcePoolStatusRequest] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1alpha3ResourcePoolStatusRequestSpec(Model):
    driver: str = ...
    limit: int | None = None
    pool_name: str | None = None

class V1alpha3ResourcePoolStatusRequestStatus(Model):
    conditions: list[V1Condition] | None = None
    pool_count: int = ...
    pools: list[V1alpha3PoolStatus] | None = None

class V1beta1AllocatedDeviceStatus(Model):
    conditions: list[V1Condition] | None = None
    data: Any = ...
    device: str = ...
    driver: str = ...
    network_data: V1beta1NetworkDeviceData | None = None
    pool: str = ...
    share_id: str | None = None

class V1beta1AllocationResult(Model):
    allocation_timestamp: datetime | None = None
    devices: V1beta1DeviceAllocationResult | None = None
    node_selector: V1NodeSelector | None = None

class V1beta1ApplyConfiguration(Model):
    expression: str | None = None

class V1beta1BasicDevice(Model):
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, V1beta1DeviceAttribute] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    binds_to_node: bool | None = None
    capacity: dict[str, V1beta1DeviceCapacity] | None = None
    consumes_counters: list[V1beta1DeviceCounterConsumption] | None = None
    node_allocatable_resource_mappings: dict[str, V1beta1NodeAllocatableResourceMapping] | None = None
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    taints: list[V1beta1DeviceTaint] | None = None

class V1beta1CELDeviceSelector(Model):
    expression: str = ...

class V1beta1CapacityRequestPolicy(Model):
    default: str | None = None
    valid_range: V1beta1CapacityRequestPolicyRange | None = None
    valid_values: list[str] | None = None

class V1beta1CapacityRequestPolicyRange(Model):
    max: str | None = None
    min: str = ...
    step: str | None = None

class V1beta1CapacityRequirements(Model):
    requests: dict[str, str] | None = None

class V1beta1ClusterTrustBundle(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1ClusterTrustBundleSpec = ...

class V1beta1ClusterTrustBundleList(Model):
    api_version: str | None = None
    items: list[V1beta1ClusterTrustBundle] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1ClusterTrustBundleSpec(Model):
    signer_name: str | None = None
    trust_bundle: str = ...

class V1beta1Counter(Model):
    value: str = ...

class V1beta1CounterSet(Model):
    counters: dict[str, V1beta1Counter] = ...
    name: str = ...

class V1beta1Device(Model):
    basic: V1beta1BasicDevice | None = None
    name: str = ...

class V1beta1DeviceAllocationConfiguration(Model):
    opaque: V1beta1OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None
    source: str = ...

class V1beta1DeviceAllocationResult(Model):
    config: list[V1beta1DeviceAllocationConfiguration] | None = None
    results: list[V1beta1DeviceRequestAllocationResult] | None = None

class V1beta1DeviceAttribute(Model):
    bool: builtins.bool | None = None
    bools: list[builtins.bool] | None = None
    int: builtins.int | None = None
    ints: list[builtins.int] | None = None
    string: str | None = None
    strings: list[str] | None = None
    version: str | None = None
    versions: list[str] | None = None

class V1beta1DeviceCapacity(Model):
    request_policy: V1beta1CapacityRequestPolicy | None = None
    value: str = ...

class V1beta1DeviceClaim(Model):
    config: list[V1beta1DeviceClaimConfiguration] | None = None
    constraints: list[V1beta1DeviceConstraint] | None = None
    requests: list[V1beta1DeviceRequest] | None = None

class V1beta1DeviceClaimConfiguration(Model):
    opaque: V1beta1OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None

class V1beta1DeviceClass(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1DeviceClassSpec = ...

class V1beta1DeviceClassConfiguration(Model):
    opaque: V1beta1OpaqueDeviceConfiguration | None = None

class V1beta1DeviceClassList(Model):
    api_version: str | None = None
    items: list[V1beta1DeviceClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1DeviceClassSpec(Model):
    config: list[V1beta1DeviceClassConfiguration] | None = None
    extended_resource_name: str | None = None
    selectors: list[V1beta1DeviceSelector] | None = None

class V1beta1DeviceConstraint(Model):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: list[str] | None = None

class V1beta1DeviceCounterConsumption(Model):
    counter_set: str = ...
    counters: dict[str, V1beta1Counter] = ...

class V1beta1DeviceRequest(Model):
    admin_access: bool | None = None
    allocation_mode: str | None = None
    capacity: V1beta1CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str | None = None
    first_available: list[V1beta1DeviceSubRequest] | None = None
    name: str = ...
    selectors: list[V1beta1DeviceSelector] | None = None
    tolerations: list[V1beta1DeviceToleration] | None = None

class V1beta1DeviceRequestAllocationResult(Model):
    admin_access: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    consumed_capacity: dict[str, str] | None = None
    device: str = ...
    driver: str = ...
    pool: str = ...
    request: str = ...
    share_id: str | None = None
    tolerations: list[V1beta1DeviceToleration] | None = None

class V1beta1DeviceSelector(Model):
    cel: V1beta1CELDeviceSelector | None = None

class V1beta1DeviceSubRequest(Model):
    allocation_mode: str | None = None
    capacity: V1beta1CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str = ...
    name: str = ...
    selectors: list[V1beta1DeviceSelector] | None = None
    tolerations: list[V1beta1DeviceToleration] | None = None

class V1beta1DeviceTaint(Model):
    effect: str = ...
    key: str = ...
    time_added: datetime | None = None
    value: str | None = None

class V1beta1DeviceToleration(Model):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None

class V1beta1IPAddress(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1IPAddressSpec = ...

class V1beta1IPAddressList(Model):
    api_version: str | None = None
    items: list[V1beta1IPAddress] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1IPAddressSpec(Model):
    parent_ref: V1beta1ParentReference = ...

class V1beta1JSONPatch(Model):
    expression: str | None = None

class V1beta1LeaseCandidate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1LeaseCandidateSpec = ...

class V1beta1LeaseCandidateList(Model):
    api_version: str | None = None
    items: list[V1beta1LeaseCandidate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1LeaseCandidateSpec(Model):
    binary_version: str = ...
    emulation_version: str | None = None
    lease_name: str = ...
    ping_time: datetime | None = None
    renew_time: datetime | None = None
    strategy: str = ...

class V1beta1MatchCondition(Model):
    expression: str = ...
    name: str = ...

class V1beta1MatchResources(Model):
    exclude_resource_rules: list[V1beta1NamedRuleWithOperations] | None = None
    match_policy: str | None = None
    namespace_selector: V1LabelSelector | None = None
    object_selector: V1LabelSelector | None = None
    resource_rules: list[V1beta1NamedRuleWithOperations] | None = None

class V1beta1MutatingAdmissionPolicy(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1MutatingAdmissionPolicySpec = ...

class V1beta1MutatingAdmissionPolicyBinding(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1MutatingAdmissionPolicyBindingSpec = ...

class V1beta1MutatingAdmissionPolicyBindingList(Model):
    api_version: str | None = None
    items: list[V1beta1MutatingAdmissionPolicyBinding] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1MutatingAdmissionPolicyBindingSpec(Model):
    match_resources: V1beta1MatchResources | None = None
    param_ref: V1beta1ParamRef | None = None
    policy_name: str | None = None

class V1beta1MutatingAdmissionPolicyList(Model):
    api_version: str | None = None
    items: list[V1beta1MutatingAdmissionPolicy] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1MutatingAdmissionPolicySpec(Model):
    failure_policy: str | None = None
    match_conditions: list[V1beta1MatchCondition] | None = None
    match_constraints: V1beta1MatchResources | None = None
    mutations: list[V1beta1Mutation] | None = None
    param_kind: V1beta1ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: list[V1beta1Variable] | None = None

class V1beta1Mutation(Model):
    apply_configuration: V1beta1ApplyConfiguration | None = None
    json_patch: V1beta1JSONPatch | None = None
    patch_type: str = ...

class V1beta1NamedRuleWithOperations(Model):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None

class V1beta1NetworkDeviceData(Model):
    hardware_address: str | None = None
    interface_name: str | None = None
    ips: list[str] | None = None

class V1beta1NodeAllocatableResourceMapping(Model):
    allocation_multiplier: str | None = None
    capacity_key: str | None = None

class V1beta1OpaqueDeviceConfiguration(Model):
    driver: str = ...
    parameters: Any = ...

class V1beta1ParamKind(Model):
    api_version: str | None = None
    kind: str | None = None

class V1beta1ParamRef(Model):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: V1LabelSelector | None = None

class V1beta1ParentReference(Model):
    group: str | None = None
    name: str = ...
    namespace: str | None = None
    resource: str = ...

class V1beta1PodCertificateRequest(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1PodCertificateRequestSpec = ...
    status: V1beta1PodCertificateRequestStatus = ...

class V1beta1PodCertificateRequestList(Model):
    api_version: str | None = None
    items: list[V1beta1PodCertificateRequest] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1PodCertificateRequestSpec(Model):
    max_expiration_seconds: int | None = None
    node_name: str = ...
    node_uid: str = ...
    pkix_public_key: str | None = None
    pod_name: str = ...
    pod_uid: str = ...
    proof_of_possession: str | None = None
    service_account_name: str = ...
    service_account_uid: str = ...
    signer_name: str = ...
    stub_pkcs10_request: str = ...
    unverified_user_annotations: dict[str, str] | None = None

class V1beta1PodCertificateRequestStatus(Model):
    begin_refresh_at: datetime | None = None
    certificate_chain: str | None = None
    conditions: list[V1Condition] | None = None
    not_after: datetime | None = None
    not_before: datetime | None = None

class V1beta1ResourceClaim(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1ResourceClaimSpec = ...
    status: V1beta1ResourceClaimStatus = ...

class V1beta1ResourceClaimConsumerReference(Model):
    api_group: str | None = None
    name: str = ...
    resource: str = ...
    uid: str = ...

class V1beta1ResourceClaimList(Model):
    api_version: str | None = None
    items: list[V1beta1ResourceClaim] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1ResourceClaimSpec(Model):
    devices: V1beta1DeviceClaim | None = None

class V1beta1ResourceClaimStatus(Model):
    allocation: V1beta1AllocationResult | None = None
    devices: list[V1beta1AllocatedDeviceStatus] | None = None
    reserved_for: list[V1beta1ResourceClaimConsumerReference] | None = None

class V1beta1ResourceClaimTemplate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1ResourceClaimTemplateSpec = ...

class V1beta1ResourceClaimTemplateList(Model):
    api_version: str | None = None
    items: list[V1beta1ResourceClaimTemplate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1ResourceClaimTemplateSpec(Model):
    metadata: V1ObjectMeta = ...
    spec: V1beta1ResourceClaimSpec = ...

class V1beta1ResourcePool(Model):
    generation: int = ...
    name: str = ...
    resource_slice_count: int = ...

class V1beta1ResourceSlice(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1ResourceSliceSpec = ...

class V1beta1ResourceSliceList(Model):
    api_version: str | None = None
    items: list[V1beta1ResourceSlice] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1ResourceSliceSpec(Model):
    all_nodes: bool | None = None
    devices: list[V1beta1Device] | None = None
    driver: str = ...
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    per_device_node_selection: bool | None = None
    pool: V1beta1ResourcePool = ...
    shared_counters: list[V1beta1CounterSet] | None = None

class V1beta1ServiceCIDR(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1ServiceCIDRSpec = ...
    status: V1beta1ServiceCIDRStatus = ...

class V1beta1ServiceCIDRList(Model):
    api_version: str | None = None
    items: list[V1beta1ServiceCIDR] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1ServiceCIDRSpec(Model):
    cidrs: list[str] | None = None

class V1beta1ServiceCIDRStatus(Model):
    conditions: list[V1Condition] | None = None

class V1beta1StorageVersionMigration(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta1StorageVersionMigrationSpec = ...
    status: V1beta1StorageVersionMigrationStatus = ...

class V1beta1StorageVersionMigrationList(Model):
    api_version: str | None = None
    items: list[V1beta1StorageVersionMigration] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta1StorageVersionMigrationSpec(Model):
    resource: V1GroupResource = ...

class V1beta1StorageVersionMigrationStatus(Model):
    conditions: list[V1Condition] | None = None
    resource_version: str | None = None

class V1beta1Variable(Model):
    expression: str = ...
    name: str = ...

class V1beta1VolumeAttributesClass(Model):
    api_version: str | None = None
    driver_name: str = ...
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    parameters: dict[str, str] | None = None

class V1beta1VolumeAttributesClassList(Model):
    api_version: str | None = None
    items: list[V1beta1VolumeAttributesClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2AllocatedDeviceStatus(Model):
    conditions: list[V1Condition] | None = None
    data: Any = ...
    device: str = ...
    driver: str = ...
    network_data: V1beta2NetworkDeviceData | None = None
    pool: str = ...
    share_id: str | None = None

class V1beta2AllocationResult(Model):
    allocation_timestamp: datetime | None = None
    devices: V1beta2DeviceAllocationResult | None = None
    node_selector: V1NodeSelector | None = None

class V1beta2CELDeviceSelector(Model):
    expression: str = ...

class V1beta2CapacityRequestPolicy(Model):
    default: str | None = None
    valid_range: V1beta2CapacityRequestPolicyRange | None = None
    valid_values: list[str] | None = None

class V1beta2CapacityRequestPolicyRange(Model):
    max: str | None = None
    min: str = ...
    step: str | None = None

class V1beta2CapacityRequirements(Model):
    requests: dict[str, str] | None = None

class V1beta2Counter(Model):
    value: str = ...

class V1beta2CounterSet(Model):
    counters: dict[str, V1beta2Counter] = ...
    name: str = ...

class V1beta2Device(Model):
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, V1beta2DeviceAttribute] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    binds_to_node: bool | None = None
    capacity: dict[str, V1beta2DeviceCapacity] | None = None
    consumes_counters: list[V1beta2DeviceCounterConsumption] | None = None
    name: str = ...
    node_allocatable_resource_mappings: dict[str, V1beta2NodeAllocatableResourceMapping] | None = None
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    taints: list[V1beta2DeviceTaint] | None = None

class V1beta2DeviceAllocationConfiguration(Model):
    opaque: V1beta2OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None
    source: str = ...

class V1beta2DeviceAllocationResult(Model):
    config: list[V1beta2DeviceAllocationConfiguration] | None = None
    results: list[V1beta2DeviceRequestAllocationResult] | None = None

class V1beta2DeviceAttribute(Model):
    bool: builtins.bool | None = None
    bools: list[builtins.bool] | None = None
    int: builtins.int | None = None
    ints: list[builtins.int] | None = None
    string: str | None = None
    strings: list[str] | None = None
    version: str | None = None
    versions: list[str] | None = None

class V1beta2DeviceCapacity(Model):
    request_policy: V1beta2CapacityRequestPolicy | None = None
    value: str = ...

class V1beta2DeviceClaim(Model):
    config: list[V1beta2DeviceClaimConfiguration] | None = None
    constraints: list[V1beta2DeviceConstraint] | None = None
    requests: list[V1beta2DeviceRequest] | None = None

class V1beta2DeviceClaimConfiguration(Model):
    opaque: V1beta2OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None

class V1beta2DeviceClass(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta2DeviceClassSpec = ...

class V1beta2DeviceClassConfiguration(Model):
    opaque: V1beta2OpaqueDeviceConfiguration | None = None

class V1beta2DeviceClassList(Model):
    api_version: str | None = None
    items: list[V1beta2DeviceClass] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2DeviceClassSpec(Model):
    config: list[V1beta2DeviceClassConfiguration] | None = None
    extended_resource_name: str | None = None
    selectors: list[V1beta2DeviceSelector] | None = None

class V1beta2DeviceConstraint(Model):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: list[str] | None = None

class V1beta2DeviceCounterConsumption(Model):
    counter_set: str = ...
    counters: dict[str, V1beta2Counter] = ...

class V1beta2DeviceRequest(Model):
    exactly: V1beta2ExactDeviceRequest | None = None
    first_available: list[V1beta2DeviceSubRequest] | None = None
    name: str = ...

class V1beta2DeviceRequestAllocationResult(Model):
    admin_access: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    consumed_capacity: dict[str, str] | None = None
    device: str = ...
    driver: str = ...
    pool: str = ...
    request: str = ...
    share_id: str | None = None
    tolerations: list[V1beta2DeviceToleration] | None = None

class V1beta2DeviceSelector(Model):
    cel: V1beta2CELDeviceSelector | None = None

class V1beta2DeviceSubRequest(Model):
    allocation_mode: str | None = None
    capacity: V1beta2CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str = ...
    name: str = ...
    selectors: list[V1beta2DeviceSelector] | None = None
    tolerations: list[V1beta2DeviceToleration] | None = None

class V1beta2DeviceTaint(Model):
    effect: str = ...
    key: str = ...
    time_added: datetime | None = None
    value: str | None = None

class V1beta2DeviceTaintRule(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta2DeviceTaintRuleSpec = ...
    status: V1beta2DeviceTaintRuleStatus = ...

class V1beta2DeviceTaintRuleList(Model):
    api_version: str | None = None
    items: list[V1beta2DeviceTaintRule] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2DeviceTaintRuleSpec(Model):
    device_selector: V1beta2DeviceTaintSelector | None = None
    taint: V1beta2DeviceTaint = ...

class V1beta2DeviceTaintRuleStatus(Model):
    conditions: list[V1Condition] | None = None

class V1beta2DeviceTaintSelector(Model):
    device: str | None = None
    driver: str | None = None
    pool: str | None = None

class V1beta2DeviceToleration(Model):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None

class V1beta2ExactDeviceRequest(Model):
    admin_access: bool | None = None
    allocation_mode: str | None = None
    capacity: V1beta2CapacityRequirements | None = None
    count: int | None = None
    device_class_name: str = ...
    selectors: list[V1beta2DeviceSelector] | None = None
    tolerations: list[V1beta2DeviceToleration] | None = None

class V1beta2NetworkDeviceData(Model):
    hardware_address: str | None = None
    interface_name: str | None = None
    ips: list[str] | None = None

class V1beta2NodeAllocatableResourceMapping(Model):
    allocation_multiplier: str | None = None
    capacity_key: str | None = None

class V1beta2OpaqueDeviceConfiguration(Model):
    driver: str = ...
    parameters: Any = ...

class V1beta2ResourceClaim(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta2ResourceClaimSpec = ...
    status: V1beta2ResourceClaimStatus = ...

class V1beta2ResourceClaimConsumerReference(Model):
    api_group: str | None = None
    name: str = ...
    resource: str = ...
    uid: str = ...

class V1beta2ResourceClaimList(Model):
    api_version: str | None = None
    items: list[V1beta2ResourceClaim] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2ResourceClaimSpec(Model):
    devices: V1beta2DeviceClaim | None = None

class V1beta2ResourceClaimStatus(Model):
    allocation: V1beta2AllocationResult | None = None
    devices: list[V1beta2AllocatedDeviceStatus] | None = None
    reserved_for: list[V1beta2ResourceClaimConsumerReference] | None = None

class V1beta2ResourceClaimTemplate(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta2ResourceClaimTemplateSpec = ...

class V1beta2ResourceClaimTemplateList(Model):
    api_version: str | None = None
    items: list[V1beta2ResourceClaimTemplate] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2ResourceClaimTemplateSpec(Model):
    metadata: V1ObjectMeta = ...
    spec: V1beta2ResourceClaimSpec = ...

class V1beta2ResourcePool(Model):
    generation: int = ...
    name: str = ...
    resource_slice_count: int = ...

class V1beta2ResourceSlice(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V1beta2ResourceSliceSpec = ...

class V1beta2ResourceSliceList(Model):
    api_version: str | None = None
    items: list[V1beta2ResourceSlice] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V1beta2ResourceSliceSpec(Model):
    all_nodes: bool | None = None
    devices: list[V1beta2Device] | None = None
    driver: str = ...
    node_name: str | None = None
    node_selector: V1NodeSelector | None = None
    per_device_node_selection: bool | None = None
    pool: V1beta2ResourcePool = ...
    shared_counters: list[V1beta2CounterSet] | None = None

class V2APIGroupDiscovery(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    versions: list[V2APIVersionDiscovery] | None = None

class V2APIGroupDiscoveryList(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ListMeta = ...
    items: list[V2APIGroupDiscovery] = ...

class V2APIResourceDiscovery(Model):
    resource: str = ...
    response_kind: Any = ...
    scope: str = ...
    singular_resource: str = ...
    verbs: list[str] = ...
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[V2APISubresourceDiscovery] | None = None

class V2APISubresourceDiscovery(Model):
    subresource: str = ...
    response_kind: Any = ...
    accepted_types: list[Any] | None = None
    verbs: list[str] = ...

class V2APIVersionDiscovery(Model):
    version: str = ...
    resources: list[V2APIResourceDiscovery] | None = None
    freshness: str | None = None

class V2ContainerResourceMetricSource(Model):
    container: str = ...
    name: str = ...
    target: V2MetricTarget = ...

class V2ContainerResourceMetricStatus(Model):
    container: str = ...
    current: V2MetricValueStatus = ...
    name: str = ...

class V2CrossVersionObjectReference(Model):
    api_version: str | None = None
    kind: str = ...
    name: str = ...

class V2ExternalMetricSource(Model):
    metric: V2MetricIdentifier = ...
    target: V2MetricTarget = ...

class V2ExternalMetricStatus(Model):
    current: V2MetricValueStatus = ...
    metric: V2MetricIdentifier = ...

class V2HPAScalingPolicy(Model):
    period_seconds: int = ...
    type: str = ...
    value: int = ...

class V2HPAScalingRules(Model):
    policies: list[V2HPAScalingPolicy] | None = None
    select_policy: str | None = None
    stabilization_window_seconds: int | None = None
    tolerance: str | None = None

class V2HorizontalPodAutoscaler(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    spec: V2HorizontalPodAutoscalerSpec = ...
    status: V2HorizontalPodAutoscalerStatus = ...

class V2HorizontalPodAutoscalerBehavior(Model):
    scale_down: V2HPAScalingRules | None = None
    scale_up: V2HPAScalingRules | None = None

class V2HorizontalPodAutoscalerCondition(Model):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str = ...
    type: str = ...

class V2HorizontalPodAutoscalerList(Model):
    api_version: str | None = None
    items: list[V2HorizontalPodAutoscaler] = ...
    kind: str | None = None
    metadata: V1ListMeta = ...

class V2HorizontalPodAutoscalerSpec(Model):
    behavior: V2HorizontalPodAutoscalerBehavior | None = None
    max_replicas: int = ...
    metrics: list[V2MetricSpec] | None = None
    min_replicas: int | None = None
    scale_target_ref: V2CrossVersionObjectReference = ...

class V2HorizontalPodAutoscalerStatus(Model):
    conditions: list[V2HorizontalPodAutoscalerCondition] | None = None
    current_metrics: list[V2MetricStatus] | None = None
    current_replicas: int | None = None
    desired_replicas: int = ...
    last_scale_time: datetime | None = None
    observed_generation: int | None = None

class V2MetricIdentifier(Model):
    name: str = ...
    selector: V1LabelSelector | None = None

class V2MetricSpec(Model):
    container_resource: V2ContainerResourceMetricSource | None = None
    external: V2ExternalMetricSource | None = None
    object: V2ObjectMetricSource | None = None
    pods: V2PodsMetricSource | None = None
    resource: V2ResourceMetricSource | None = None
    type: str = ...

class V2MetricStatus(Model):
    container_resource: V2ContainerResourceMetricStatus | None = None
    external: V2ExternalMetricStatus | None = None
    object: V2ObjectMetricStatus | None = None
    pods: V2PodsMetricStatus | None = None
    resource: V2ResourceMetricStatus | None = None
    type: str = ...

class V2MetricTarget(Model):
    average_utilization: int | None = None
    average_value: str | None = None
    type: str = ...
    value: str | None = None

class V2MetricValueStatus(Model):
    average_utilization: int | None = None
    average_value: str | None = None
    value: str | None = None

class V2ObjectMetricSource(Model):
    described_object: V2CrossVersionObjectReference = ...
    metric: V2MetricIdentifier = ...
    target: V2MetricTarget = ...

class V2ObjectMetricStatus(Model):
    current: V2MetricValueStatus = ...
    described_object: V2CrossVersionObjectReference = ...
    metric: V2MetricIdentifier = ...

class V2PodsMetricSource(Model):
    metric: V2MetricIdentifier = ...
    target: V2MetricTarget = ...

class V2PodsMetricStatus(Model):
    current: V2MetricValueStatus = ...
    metric: V2MetricIdentifier = ...

class V2ResourceMetricSource(Model):
    name: str = ...
    target: V2MetricTarget = ...

class V2ResourceMetricStatus(Model):
    current: V2MetricValueStatus = ...
    name: str = ...

class V2beta1APIGroupDiscovery(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ObjectMeta = ...
    versions: list[V2beta1APIVersionDiscovery] | None = None

class V2beta1APIGroupDiscoveryList(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: V1ListMeta = ...
    items: list[V2beta1APIGroupDiscovery] = ...

class V2beta1APIResourceDiscovery(Model):
    resource: str = ...
    response_kind: Any = ...
    scope: str = ...
    singular_resource: str = ...
    verbs: list[str] = ...
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[V2beta1APISubresourceDiscovery] | None = None

class V2beta1APISubresourceDiscovery(Model):
    subresource: str = ...
    response_kind: Any = ...
    verbs: list[str] = ...
    accepted_types: list[Any] | None = None

class V2beta1APIVersionDiscovery(Model):
    version: str = ...
    resources: list[V2beta1APIResourceDiscovery] | None = None
    freshness: str | None = None

class VersionInfo(Model):
    build_date: str = ...
    compiler: str = ...
    emulation_major: str | None = None
    emulation_minor: str | None = None
    git_commit: str = ...
    git_tree_state: str = ...
    git_version: str = ...
    go_version: str = ...
    major: str = ...
    min_compatibility_major: str | None = None
    min_compatibility_minor: str | None = None
    minor: str = ...
    platform: str = ...
