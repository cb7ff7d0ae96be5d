"""The wire form of the fields of built-in types, where it does not follow from the type of the field.

The names and types of fields come from kubernetes_asyncio's metadata (:mod:`.schema`). This module adds what that
metadata does not say. The facts are those of the API's Go types at Kubernetes 1.36. The types have kubernetes_asyncio's
names.

========  =================================================================================================
``!``     the field is always written. Without a value it is null, 0 or the like
``=``     an object that is always written. Without a value it is an empty object
``~``     a plain value that is omitted if it is 0, false or empty. Without ``~`` an explicit zero is kept
``n``     (after ``!``) without a value the field is null
``L``     a number of 64 bits. Without ``L`` a number has 32 bits
``q``     a quantity, or a map of quantities
``b``     bytes in base64, or a map of such bytes
``i``     a number or a string
``d``     a duration
``u``     a time with microseconds
``r``     any value: an object of another program
========  =================================================================================================
"""

from __future__ import annotations

__all__ = ("FORMS",)

FORMS = """\
AdmissionregistrationV1ServiceReference name:! namespace:!
AdmissionregistrationV1WebhookClientConfig caBundle:b
ApiextensionsV1ServiceReference name:! namespace:!
ApiextensionsV1WebhookClientConfig caBundle:b
ApiregistrationV1ServiceReference name:~ namespace:~
AuthenticationV1TokenRequest metadata:= spec:= status:=
CoreV1EndpointPort name:~ port:! protocol:~
CoreV1Event action:~ count:~ eventTime:!u firstTimestamp:! involvedObject:= lastTimestamp:! message:~ metadata:=
  reason:~ reportingComponent:! reportingInstance:! source:= type:~
CoreV1EventSeries count:~ lastObservedTime:!u
CoreV1ResourceClaim name:! request:~
EventsV1Event action:~ deprecatedCount:~ deprecatedFirstTimestamp:! deprecatedLastTimestamp:! deprecatedSource:=
  eventTime:!u metadata:= note:~ reason:~ regarding:= reportingController:~ reportingInstance:~ type:~
EventsV1EventSeries count:! lastObservedTime:!u
FlowcontrolV1Subject kind:!
RbacV1Subject apiGroup:~ kind:! name:! namespace:~
ResourceV1ResourceClaim metadata:= spec:= status:=
StorageV1TokenRequest audience:! expirationSeconds:L
V1APIService metadata:= spec:= status:=
V1APIServiceCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1APIServiceSpec caBundle:b group:~ groupPriorityMinimum:! insecureSkipTLSVerify:~ version:~ versionPriority:!
V1AWSElasticBlockStoreVolumeSource fsType:~ partition:~ readOnly:~ volumeID:!
V1AllocatedDeviceStatus conditions:! data:r device:! driver:! pool:!
V1AllocationResult devices:=
V1AppArmorProfile type:!
V1ApplyConfiguration expression:~
V1AttachedVolume devicePath:! name:!
V1AuditAnnotation key:! valueExpression:!
V1AzureDiskVolumeSource diskName:! diskURI:!
V1AzureFilePersistentVolumeSource readOnly:~ secretName:! secretNamespace:!n shareName:!
V1AzureFileVolumeSource readOnly:~ secretName:! shareName:!
V1Binding metadata:= target:=
V1BoundObjectReference apiVersion:~ kind:~ name:~ uid:~
V1CELDeviceSelector expression:!
V1CSIDriver metadata:= spec:=
V1CSIDriverSpec nodeAllocatableUpdatePeriodSeconds:L
V1CSINode metadata:= spec:=
V1CSINodeDriver name:! nodeID:! topologyKeys:!
V1CSINodeSpec drivers:!
V1CSIPersistentVolumeSource driver:! fsType:~ readOnly:~ volumeHandle:!
V1CSIStorageCapacity capacity:q maximumVolumeSize:q metadata:= storageClassName:!
V1CSIVolumeSource driver:!
V1CapacityRequestPolicy default:!q validValues:q
V1CapacityRequestPolicyRange max:q min:q step:q
V1CapacityRequirements requests:q
V1CephFSPersistentVolumeSource monitors:! path:~ readOnly:~ secretFile:~ user:~
V1CephFSVolumeSource monitors:! path:~ readOnly:~ secretFile:~ user:~
V1CertificateSigningRequest metadata:= spec:= status:=
V1CertificateSigningRequestCondition lastTransitionTime:! lastUpdateTime:! message:~ reason:~ status:! type:!
V1CertificateSigningRequestSpec request:!b signerName:! uid:~ username:~
V1CertificateSigningRequestStatus certificate:b
V1CinderPersistentVolumeSource fsType:~ readOnly:~ volumeID:!
V1CinderVolumeSource fsType:~ readOnly:~ volumeID:!
V1ClusterRole metadata:= rules:!
V1ClusterRoleBinding metadata:= roleRef:=
V1ClusterTrustBundleProjection path:!
V1ComponentCondition error:~ message:~ status:! type:!
V1ComponentStatus metadata:=
V1Condition lastTransitionTime:! message:! observedGeneration:~L reason:! status:! type:!
V1ConfigMap binaryData:b metadata:=
V1ConfigMapEnvSource name:~
V1ConfigMapKeySelector key:! name:~
V1ConfigMapNodeConfigSource kubeletConfigKey:! name:! namespace:! resourceVersion:~ uid:~
V1ConfigMapProjection name:~
V1ConfigMapVolumeSource name:~
V1Container image:~ imagePullPolicy:~ name:! resources:= stdin:~ stdinOnce:~ terminationMessagePath:~
  terminationMessagePolicy:~ tty:~ workingDir:~
V1ContainerExtendedResourceRequest containerName:! requestName:! resourceName:!
V1ContainerImage names:! sizeBytes:~L
V1ContainerPort containerPort:! hostIP:~ hostPort:~ name:~ protocol:~
V1ContainerResizePolicy resourceName:! restartPolicy:!
V1ContainerRestartRule action:~
V1ContainerRestartRuleOnExitCodes operator:~
V1ContainerStateRunning startedAt:!
V1ContainerStateTerminated containerID:~ exitCode:! finishedAt:! message:~ reason:~ signal:~ startedAt:!
V1ContainerStateWaiting message:~ reason:~
V1ContainerStatus allocatedResources:q containerID:~ image:! imageID:! lastState:= name:! ready:! restartCount:!
  state:=
V1ControllerRevision data:r metadata:= revision:!L
V1Counter value:!q
V1CounterSet name:!
V1CronJob metadata:= spec:= status:=
V1CronJobSpec concurrencyPolicy:~ jobTemplate:= schedule:! startingDeadlineSeconds:L
V1CrossVersionObjectReference apiVersion:~ kind:! name:!
V1CustomResourceColumnDefinition description:~ format:~ jsonPath:! name:! priority:~ type:!
V1CustomResourceConversion strategy:!
V1CustomResourceDefinition metadata:= spec:= status:=
V1CustomResourceDefinitionCondition lastTransitionTime:! message:~ observedGeneration:~L reason:~ status:! type:!
V1CustomResourceDefinitionNames kind:! listKind:~ plural:! singular:~
V1CustomResourceDefinitionSpec group:! names:= preserveUnknownFields:~ scope:! versions:!
V1CustomResourceDefinitionStatus acceptedNames:= conditions:! observedGeneration:~L storedVersions:!
V1CustomResourceDefinitionVersion deprecated:~ name:! served:! storage:!
V1CustomResourceSubresourceScale specReplicasPath:! statusReplicasPath:!
V1DaemonEndpoint Port:!
V1DaemonSet metadata:= spec:= status:=
V1DaemonSetCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1DaemonSetSpec minReadySeconds:~ selector:! template:= updateStrategy:=
V1DaemonSetStatus currentNumberScheduled:! desiredNumberScheduled:! numberAvailable:~ numberMisscheduled:!
  numberReady:! numberUnavailable:~ observedGeneration:~L updatedNumberScheduled:~
V1DaemonSetUpdateStrategy type:~
V1DeleteOptions gracePeriodSeconds:L
V1Deployment metadata:= spec:= status:=
V1DeploymentCondition lastTransitionTime:! lastUpdateTime:! message:~ reason:~ status:! type:!
V1DeploymentSpec minReadySeconds:~ paused:~ selector:! strategy:= template:=
V1DeploymentStatus availableReplicas:~ observedGeneration:~L readyReplicas:~ replicas:~ unavailableReplicas:~
  updatedReplicas:~
V1DeploymentStrategy type:~
V1Device name:!
V1DeviceAllocationConfiguration source:!
V1DeviceAttribute int:L ints:L
V1DeviceCapacity value:!q
V1DeviceClaim requests:!
V1DeviceClass metadata:= spec:=
V1DeviceCounterConsumption counterSet:!
V1DeviceRequest name:!
V1DeviceRequestAllocationResult consumedCapacity:q device:! driver:! pool:! request:!
V1DeviceSubRequest allocationMode:~ count:~L deviceClassName:! name:!
V1DeviceTaint effect:! key:! value:~
V1DeviceToleration effect:~ key:~ operator:~ tolerationSeconds:L value:~
V1DownwardAPIVolumeFile path:!
V1EmptyDirVolumeSource medium:~ sizeLimit:q
V1Endpoint addresses:! conditions:=
V1EndpointAddress hostname:~ ip:!
V1EndpointSlice addressType:! endpoints:! metadata:= ports:!
V1Endpoints metadata:=
V1EnvFromSource prefix:~
V1EnvVar name:! value:~
V1EphemeralContainer image:~ imagePullPolicy:~ name:! resources:= stdin:~ stdinOnce:~ targetContainerName:~
  terminationMessagePath:~ terminationMessagePolicy:~ tty:~ workingDir:~
V1EventSource component:~ host:~
V1Eviction metadata:=
V1ExactDeviceRequest allocationMode:~ count:~L deviceClassName:!
V1ExpressionWarning fieldRef:! warning:!
V1ExternalDocumentation description:~ url:~
V1FCVolumeSource fsType:~ readOnly:~
V1FieldSelectorAttributes rawSelector:~
V1FieldSelectorRequirement key:! operator:!
V1FileKeySelector key:! path:! volumeName:!
V1FlexPersistentVolumeSource driver:! fsType:~ readOnly:~
V1FlexVolumeSource driver:! fsType:~ readOnly:~
V1FlockerVolumeSource datasetName:~ datasetUUID:~
V1FlowDistinguisherMethod type:!
V1FlowSchema metadata:= spec:= status:=
V1FlowSchemaCondition lastTransitionTime:! message:~ reason:~ status:~ type:~
V1FlowSchemaSpec matchingPrecedence:! priorityLevelConfiguration:=
V1ForNode name:!
V1ForZone name:!
V1GCEPersistentDiskVolumeSource fsType:~ partition:~ pdName:! readOnly:~
V1GRPCAction port:! service:!n
V1GitRepoVolumeSource directory:~ repository:! revision:~
V1GlusterfsPersistentVolumeSource endpoints:! path:! readOnly:~
V1GlusterfsVolumeSource endpoints:! path:! readOnly:~
V1GroupResource group:! resource:!
V1GroupSubject name:!
V1HTTPGetAction host:~ path:~ port:!i scheme:~
V1HTTPHeader name:! value:!
V1HTTPIngressPath backend:= path:~ pathType:!n
V1HTTPIngressRuleValue paths:!
V1HorizontalPodAutoscaler metadata:= spec:= status:=
V1HorizontalPodAutoscalerSpec maxReplicas:! scaleTargetRef:=
V1HorizontalPodAutoscalerStatus currentReplicas:! desiredReplicas:! observedGeneration:L
V1HostAlias ip:!
V1HostIP ip:!
V1HostPathVolumeSource path:!
V1IPAddress metadata:= spec:=
V1IPBlock cidr:!
V1ISCSIPersistentVolumeSource chapAuthDiscovery:~ chapAuthSession:~ fsType:~ iqn:! iscsiInterface:~ lun:! readOnly:~
  targetPortal:!
V1ISCSIVolumeSource chapAuthDiscovery:~ chapAuthSession:~ fsType:~ iqn:! iscsiInterface:~ lun:! readOnly:~
  targetPortal:!
V1ImageVolumeSource pullPolicy:~ reference:~
V1ImageVolumeStatus imageRef:~
V1Ingress metadata:= spec:= status:=
V1IngressClass metadata:= spec:=
V1IngressClassParametersReference kind:! name:! scope:!n
V1IngressClassSpec controller:~
V1IngressLoadBalancerIngress hostname:~ ip:~
V1IngressPortStatus port:! protocol:!
V1IngressRule host:~
V1IngressServiceBackend name:! port:=
V1IngressStatus loadBalancer:=
V1IngressTLS secretName:~
V1JSONPatch expression:~
V1JSONSchemaProps $schema:~ additionalItems:r additionalProperties:r default:r dependencies:r description:~ enum:r
  example:r exclusiveMaximum:~ exclusiveMinimum:~ format:~ id:~ items:r maxItems:L maxLength:L maxProperties:L
  minItems:L minLength:L minProperties:L nullable:~ pattern:~ title:~ type:~ uniqueItems:~
  x-kubernetes-embedded-resource:~ x-kubernetes-int-or-string:~
V1Job metadata:= spec:= status:=
V1JobCondition lastProbeTime:! lastTransitionTime:! message:~ reason:~ status:! type:!
V1JobSpec activeDeadlineSeconds:L template:=
V1JobStatus active:~ completedIndexes:~ failed:~ succeeded:~
V1JobTemplateSpec metadata:= spec:=
V1KeyToPath key:! path:!
V1LabelSelectorAttributes rawSelector:~
V1LabelSelectorRequirement key:! operator:!
V1Lease metadata:= spec:=
V1LeaseSpec acquireTime:u renewTime:u
V1LimitRange metadata:= spec:=
V1LimitRangeItem default:q defaultRequest:q max:q maxLimitRequestRatio:q min:q type:!
V1LimitRangeSpec limits:!
V1LimitResponse type:!
V1LimitedPriorityLevelConfiguration limitResponse:= nominalConcurrencyShares:!n
V1LinuxContainerUser gid:!L supplementalGroups:L uid:!L
V1LoadBalancerIngress hostname:~ ip:~
V1LocalObjectReference name:~
V1LocalSubjectAccessReview metadata:= spec:= status:=
V1LocalVolumeSource path:!
V1ManagedFieldsEntry apiVersion:~ fieldsType:~ manager:~ operation:~ subresource:~
V1MatchCondition expression:! name:!
V1ModifyVolumeStatus status:! targetVolumeAttributesClassName:~
V1MutatingAdmissionPolicy metadata:= spec:=
V1MutatingAdmissionPolicyBinding metadata:= spec:=
V1MutatingAdmissionPolicyBindingSpec policyName:~
V1MutatingAdmissionPolicySpec reinvocationPolicy:~
V1MutatingWebhook admissionReviewVersions:! clientConfig:= name:! sideEffects:!n
V1MutatingWebhookConfiguration metadata:=
V1Mutation patchType:!
V1NFSVolumeSource path:! readOnly:~ server:!
V1Namespace metadata:= spec:= status:=
V1NamespaceCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1NamespaceStatus phase:~
V1NetworkDeviceData hardwareAddress:~ interfaceName:~
V1NetworkPolicy metadata:= spec:=
V1NetworkPolicyPort port:i
V1NetworkPolicySpec podSelector:=
V1Node metadata:= spec:= status:=
V1NodeAddress address:! type:!
V1NodeAllocatableResourceClaimStatus resourceClaimName:! resources:!q
V1NodeAllocatableResourceMapping allocationMultiplier:q
V1NodeCondition lastHeartbeatTime:! lastTransitionTime:! message:~ reason:~ status:! type:!
V1NodeConfigStatus error:~
V1NodeDaemonEndpoints kubeletEndpoint:=
V1NodeRuntimeHandler name:!
V1NodeSelector nodeSelectorTerms:!
V1NodeSelectorRequirement key:! operator:!
V1NodeSpec externalID:~ podCIDR:~ providerID:~ unschedulable:~
V1NodeStatus allocatable:q capacity:q daemonEndpoints:= nodeInfo:= phase:~
V1NodeSwapStatus capacity:L
V1NodeSystemInfo architecture:! bootID:! containerRuntimeVersion:! kernelVersion:! kubeProxyVersion:!
  kubeletVersion:! machineID:! operatingSystem:! osImage:! systemUUID:!
V1NonResourceAttributes path:~ verb:~
V1NonResourcePolicyRule nonResourceURLs:! verbs:!
V1NonResourceRule verbs:!
V1ObjectFieldSelector apiVersion:~ fieldPath:!
V1ObjectMeta deletionGracePeriodSeconds:L generateName:~ generation:~L name:~ namespace:~ resourceVersion:~
  selfLink:~ uid:~
V1ObjectReference apiVersion:~ fieldPath:~ kind:~ name:~ namespace:~ resourceVersion:~ uid:~
V1OpaqueDeviceConfiguration driver:! parameters:!r
V1Overhead podFixed:q
V1OwnerReference apiVersion:! kind:! name:! uid:!
V1ParamKind apiVersion:~ kind:~
V1ParamRef name:~ namespace:~
V1ParentReference group:~ name:~ namespace:~ resource:~
V1PersistentVolume metadata:= spec:= status:=
V1PersistentVolumeClaim metadata:= spec:= status:=
V1PersistentVolumeClaimCondition lastProbeTime:! lastTransitionTime:! message:~ reason:~ status:! type:!
V1PersistentVolumeClaimSpec resources:= volumeName:~
V1PersistentVolumeClaimStatus allocatedResources:q capacity:q phase:~
V1PersistentVolumeClaimTemplate metadata:= spec:=
V1PersistentVolumeClaimVolumeSource claimName:! readOnly:~
V1PersistentVolumeSpec capacity:q persistentVolumeReclaimPolicy:~ storageClassName:~
V1PersistentVolumeStatus message:~ phase:~ reason:~
V1PhotonPersistentDiskVolumeSource fsType:~ pdID:!
V1Pod metadata:= spec:= status:=
V1PodAffinityTerm topologyKey:!
V1PodCertificateProjection certificateChainPath:~ credentialBundlePath:~ keyPath:~ keyType:~ signerName:~
V1PodCondition lastProbeTime:! lastTransitionTime:! message:~ observedGeneration:~L reason:~ status:! type:!
V1PodDNSConfigOption name:~
V1PodDisruptionBudget metadata:= spec:= status:=
V1PodDisruptionBudgetSpec maxUnavailable:i minAvailable:i
V1PodDisruptionBudgetStatus currentHealthy:! desiredHealthy:! disruptionsAllowed:! expectedPods:!
  observedGeneration:~L
V1PodExtendedResourceClaimStatus requestMappings:! resourceClaimName:!
V1PodFailurePolicy rules:!
V1PodFailurePolicyOnExitCodesRequirement operator:! values:!
V1PodFailurePolicyOnPodConditionsPattern status:! type:!
V1PodFailurePolicyRule action:!
V1PodIP ip:!
V1PodOS name:!
V1PodReadinessGate conditionType:!
V1PodResourceClaim name:!
V1PodResourceClaimStatus name:!
V1PodSchedulingGate name:!
V1PodSecurityContext fsGroup:L runAsGroup:L runAsUser:L supplementalGroups:L
V1PodSpec activeDeadlineSeconds:L containers:! dnsPolicy:~ hostIPC:~ hostNetwork:~ hostPID:~ hostname:~ nodeName:~
  overhead:q priorityClassName:~ restartPolicy:~ schedulerName:~ serviceAccount:~ serviceAccountName:~ subdomain:~
  terminationGracePeriodSeconds:L
V1PodStatus allocatedResources:q hostIP:~ message:~ nominatedNodeName:~ observedGeneration:~L phase:~ podIP:~
  qosClass:~ reason:~ resize:~
V1PodTemplate metadata:= template:=
V1PodTemplateSpec metadata:= spec:=
V1PolicyRule verbs:!
V1PolicyRulesWithSubjects subjects:!
V1PortStatus port:! protocol:!
V1PortworxVolumeSource fsType:~ readOnly:~ volumeID:!
V1PreferredSchedulingTerm preference:= weight:!
V1PriorityClass description:~ globalDefault:~ metadata:= value:!
V1PriorityLevelConfiguration metadata:= spec:= status:=
V1PriorityLevelConfigurationCondition lastTransitionTime:! message:~ reason:~ status:~ type:~
V1PriorityLevelConfigurationReference name:!
V1PriorityLevelConfigurationSpec type:!
V1Probe failureThreshold:~ initialDelaySeconds:~ periodSeconds:~ successThreshold:~ terminationGracePeriodSeconds:L
  timeoutSeconds:~
V1ProjectedVolumeSource sources:!
V1QueuingConfiguration handSize:! queueLengthLimit:! queues:!
V1QuobyteVolumeSource group:~ readOnly:~ registry:! tenant:~ user:~ volume:!
V1RBDPersistentVolumeSource fsType:~ image:! keyring:~ monitors:! pool:~ readOnly:~ user:~
V1RBDVolumeSource fsType:~ image:! keyring:~ monitors:! pool:~ readOnly:~ user:~
V1ReplicaSet metadata:= spec:= status:=
V1ReplicaSetCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1ReplicaSetSpec minReadySeconds:~ selector:! template:=
V1ReplicaSetStatus availableReplicas:~ fullyLabeledReplicas:~ observedGeneration:~L readyReplicas:~ replicas:!
V1ReplicationController metadata:= spec:= status:=
V1ReplicationControllerCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1ReplicationControllerSpec minReadySeconds:~
V1ReplicationControllerStatus availableReplicas:~ fullyLabeledReplicas:~ observedGeneration:~L readyReplicas:~
  replicas:!
V1ResourceAttributes group:~ name:~ namespace:~ resource:~ subresource:~ verb:~ version:~
V1ResourceClaimConsumerReference apiGroup:~ name:! resource:! uid:!
V1ResourceClaimSpec devices:=
V1ResourceClaimTemplate metadata:= spec:=
V1ResourceClaimTemplateSpec metadata:= spec:=
V1ResourceFieldSelector containerName:~ divisor:q resource:!
V1ResourceHealth health:~ resourceID:!
V1ResourcePolicyRule apiGroups:! clusterScope:~ namespaces:! resources:! verbs:!
V1ResourcePool generation:!L name:! resourceSliceCount:!L
V1ResourceQuota metadata:= spec:= status:=
V1ResourceQuotaSpec hard:q
V1ResourceQuotaStatus hard:q used:q
V1ResourceRequirements limits:q requests:q
V1ResourceRule verbs:!
V1ResourceSlice metadata:= spec:=
V1ResourceSliceSpec driver:! pool:=
V1ResourceStatus name:!
V1Role metadata:= rules:!
V1RoleBinding metadata:= roleRef:=
V1RoleRef apiGroup:! kind:! name:!
V1RollingUpdateDaemonSet maxSurge:i maxUnavailable:i
V1RollingUpdateDeployment maxSurge:i maxUnavailable:i
V1RollingUpdateStatefulSetStrategy maxUnavailable:i
V1RuntimeClass handler:! metadata:=
V1SELinuxOptions level:~ role:~ type:~ user:~
V1Scale metadata:= spec:= status:=
V1ScaleIOPersistentVolumeSource fsType:~ gateway:! protectionDomain:~ readOnly:~ secretRef:! sslEnabled:~
  storageMode:~ storagePool:~ system:! volumeName:~
V1ScaleIOVolumeSource fsType:~ gateway:! protectionDomain:~ readOnly:~ secretRef:! sslEnabled:~ storageMode:~
  storagePool:~ system:! volumeName:~
V1ScaleSpec replicas:~
V1ScaleStatus replicas:! selector:~
V1ScopedResourceSelectorRequirement operator:! scopeName:!
V1SeccompProfile type:!
V1Secret data:b metadata:= type:~
V1SecretEnvSource name:~
V1SecretKeySelector key:! name:~
V1SecretProjection name:~
V1SecretReference name:~ namespace:~
V1SecretVolumeSource secretName:~
V1SecurityContext runAsGroup:L runAsUser:L
V1SelectableField jsonPath:!
V1SelfSubjectAccessReview metadata:= spec:= status:=
V1SelfSubjectReview metadata:= status:=
V1SelfSubjectReviewStatus userInfo:=
V1SelfSubjectRulesReview metadata:= spec:= status:=
V1SelfSubjectRulesReviewSpec namespace:~
V1Service metadata:= spec:= status:=
V1ServiceAccount metadata:=
V1ServiceAccountSubject name:! namespace:!
V1ServiceAccountTokenProjection audience:~ expirationSeconds:L path:!
V1ServiceBackendPort name:~ number:~
V1ServiceCIDR metadata:= spec:= status:=
V1ServicePort name:~ nodePort:~ port:! protocol:~ targetPort:i
V1ServiceSpec clusterIP:~ externalName:~ externalTrafficPolicy:~ healthCheckNodePort:~ loadBalancerIP:~
  publishNotReadyAddresses:~ sessionAffinity:~ type:~
V1ServiceStatus loadBalancer:=
V1SleepAction seconds:!L
V1StatefulSet metadata:= spec:= status:=
V1StatefulSetCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V1StatefulSetOrdinals start:!
V1StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:~ whenScaled:~
V1StatefulSetSpec minReadySeconds:~ podManagementPolicy:~ selector:! serviceName:! template:= updateStrategy:=
V1StatefulSetStatus availableReplicas:! currentReplicas:~ currentRevision:~ observedGeneration:~L readyReplicas:~
  replicas:! updateRevision:~ updatedReplicas:~
V1StatefulSetUpdateStrategy type:~
V1StorageClass metadata:= provisioner:!
V1StorageOSPersistentVolumeSource fsType:~ readOnly:~ volumeName:~ volumeNamespace:~
V1StorageOSVolumeSource fsType:~ readOnly:~ volumeName:~ volumeNamespace:~
V1SubjectAccessReview metadata:= spec:= status:=
V1SubjectAccessReviewSpec uid:~ user:~
V1SubjectAccessReviewStatus allowed:! denied:~ evaluationError:~ reason:~
V1SubjectRulesReviewStatus evaluationError:~ incomplete:! nonResourceRules:! resourceRules:!
V1SuccessPolicy rules:!
V1Sysctl name:! value:!
V1TCPSocketAction host:~ port:!i
V1Taint effect:! key:! value:~
V1TokenRequestSpec audiences:! boundObjectRef:! expirationSeconds:!nL
V1TokenRequestStatus expirationTimestamp:! token:!
V1TokenReview metadata:= spec:= status:=
V1TokenReviewSpec token:~
V1TokenReviewStatus authenticated:~ error:~ user:=
V1Toleration effect:~ key:~ operator:~ tolerationSeconds:L value:~
V1TopologySelectorLabelRequirement key:! values:!
V1TopologySpreadConstraint maxSkew:! topologyKey:! whenUnsatisfiable:!
V1TypedLocalObjectReference apiGroup:!n kind:! name:!
V1TypedObjectReference apiGroup:!n kind:! name:!
V1UserInfo uid:~ username:~
V1UserSubject name:!
V1ValidatingAdmissionPolicy metadata:= spec:= status:=
V1ValidatingAdmissionPolicyBinding metadata:= spec:=
V1ValidatingAdmissionPolicyBindingSpec policyName:~
V1ValidatingAdmissionPolicyStatus observedGeneration:~L
V1ValidatingWebhook admissionReviewVersions:! clientConfig:= name:! sideEffects:!n
V1ValidatingWebhookConfiguration metadata:=
V1Validation expression:! message:~ messageExpression:~
V1ValidationRule fieldPath:~ message:~ messageExpression:~ rule:!
V1Variable expression:! name:!
V1Volume name:!
V1VolumeAttachment metadata:= spec:= status:=
V1VolumeAttachmentSpec attacher:! nodeName:! source:=
V1VolumeAttachmentStatus attached:!
V1VolumeAttributesClass driverName:! metadata:=
V1VolumeDevice devicePath:! name:!
V1VolumeError message:~ time:!
V1VolumeMount mountPath:! name:! readOnly:~ subPath:~ subPathExpr:~
V1VolumeMountStatus mountPath:! name:! readOnly:~
V1VolumeResourceRequirements limits:q requests:q
V1VsphereVirtualDiskVolumeSource fsType:~ storagePolicyID:~ storagePolicyName:~ volumePath:!
V1WebhookConversion conversionReviewVersions:!
V1WeightedPodAffinityTerm podAffinityTerm:= weight:!
V1alpha1ServerStorageVersion apiServerID:~ encodingVersion:~
V1alpha1StorageVersion metadata:= status:=
V1alpha1StorageVersionCondition lastTransitionTime:! message:~ observedGeneration:~L reason:! status:! type:!
V1alpha2GangSchedulingPolicy minCount:!
V1alpha2PodGroup metadata:= spec:= status:=
V1alpha2PodGroupResourceClaim name:!
V1alpha2PodGroupResourceClaimStatus name:!
V1alpha2PodGroupSpec podGroupTemplateRef:!n priorityClassName:~ schedulingPolicy:=
V1alpha2PodGroupTemplate name:! priorityClassName:~ schedulingConstraints:!n schedulingPolicy:=
V1alpha2PodGroupTemplateReference workload:!n
V1alpha2TopologyConstraint key:!
V1alpha2TypedLocalObjectReference apiGroup:~ kind:! name:!
V1alpha2Workload metadata:= spec:=
V1alpha2WorkloadPodGroupTemplateReference podGroupTemplateName:! workloadName:!
V1alpha2WorkloadSpec podGroupTemplates:!
V1alpha3PoolStatus driver:~ generation:!L poolName:~
V1alpha3ResourcePoolStatusRequest metadata:= spec:=
V1alpha3ResourcePoolStatusRequestSpec driver:!
V1beta1ClusterTrustBundle metadata:= spec:=
V1beta1ClusterTrustBundleSpec signerName:~ trustBundle:!
V1beta1PodCertificateRequest metadata:= spec:= status:=
V1beta1PodCertificateRequestSpec nodeName:! nodeUID:! pkixPublicKey:!b podName:! podUID:! proofOfPossession:!b
  serviceAccountName:! serviceAccountUID:! signerName:! stubPKCS10Request:!b
V1beta1PodCertificateRequestStatus certificateChain:~
V1beta1StorageVersionMigration metadata:= spec:= status:=
V1beta1StorageVersionMigrationSpec resource:=
V1beta1StorageVersionMigrationStatus resourceVersion:~
V1beta2DeviceTaint effect:! key:! value:~
V1beta2DeviceTaintRule metadata:= spec:= status:=
V1beta2DeviceTaintRuleSpec taint:=
V2ContainerResourceMetricSource container:! name:! target:=
V2ContainerResourceMetricStatus container:! current:= name:!
V2CrossVersionObjectReference apiVersion:~ kind:! name:!
V2ExternalMetricSource metric:= target:=
V2ExternalMetricStatus current:= metric:=
V2HPAScalingPolicy periodSeconds:! type:! value:!
V2HPAScalingRules tolerance:q
V2HorizontalPodAutoscaler metadata:= spec:= status:=
V2HorizontalPodAutoscalerCondition lastTransitionTime:! message:~ reason:~ status:! type:!
V2HorizontalPodAutoscalerSpec maxReplicas:! scaleTargetRef:=
V2HorizontalPodAutoscalerStatus currentMetrics:! currentReplicas:~ desiredReplicas:! observedGeneration:L
V2MetricIdentifier name:!
V2MetricSpec type:!
V2MetricStatus type:!
V2MetricTarget averageValue:q type:! value:q
V2MetricValueStatus averageValue:q value:q
V2ObjectMetricSource describedObject:= metric:= target:=
V2ObjectMetricStatus current:= describedObject:= metric:=
V2PodsMetricSource metric:= target:=
V2PodsMetricStatus current:= metric:=
V2ResourceMetricSource name:! target:=
V2ResourceMetricStatus current:= name:!
"""
