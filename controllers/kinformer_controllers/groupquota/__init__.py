"""A webhook for quotas over many namespaces: GroupQuotas. A request is charged when it is admitted.

The webhook admits a request before its object is stored. A recount between these two moments would not find the object,
would subtract its charge, and the amount could be used twice. So each charge is also *reserved* until an informer has
seen the object, or until a time limit that no API server exceeds. A recount adds the reservations to the stored
objects.

A reservation is written together with its charge into the GroupQuota's status, and only onto the version from which the
charge was computed. So any number of replicas can answer requests: each knows the charges of all, and no charge is
lost. One replica is elected to recount.
"""
