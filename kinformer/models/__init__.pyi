# What type checkers see: the models, whose fields are in _models.pyi, and this package's own functions.
from typing import Any

from kinformer.meta import GroupVersionKind
from kinformer.models._base import Model as Model
from kinformer.models._complete import complete as complete
from kinformer.models._compressed import COMPRESSION_MISSING as COMPRESSION_MISSING
from kinformer.models._compressed import compression_is_possible as compression_is_possible
from kinformer.models._compression import Compression as Compression
from kinformer.models._compression import compression_of as compression_of
from kinformer.models._decoding import decode as decode
from kinformer.models._decoding import decoder_for as decoder_for
from kinformer.models._decoding import from_dict as from_dict
from kinformer.models._encoding import MicroTime as MicroTime
from kinformer.models._encoding import encode as encode
from kinformer.models._encoding import to_dict as to_dict
from kinformer.models._errors import DECODE_ERRORS as DECODE_ERRORS
from kinformer.models._errors import Fault as Fault
from kinformer.models._errors import ObjectDecodeError as ObjectDecodeError
from kinformer.models._errors import fault_of as fault_of
from kinformer.models._identity import Identity as Identity
from kinformer.models._identity import identity_of as identity_of
from kinformer.models._identity import items_of as items_of
from kinformer.models._identity import members_of as members_of
from kinformer.models._keeping import detacher_for as detacher_for
from kinformer.models._keeping import interner_for as interner_for
from kinformer.models._keeping import successor_for as successor_for
from kinformer.models._kept import KeptForm as KeptForm
from kinformer.models._kept import kept_form_of as kept_form_of
from kinformer.models._lazy_dict import KnownParts as KnownParts
from kinformer.models._lazy_dict import LazyDict as LazyDict
from kinformer.models._lazy_dict import Parts as Parts
from kinformer.models._lazy_dict import lazy_dict as lazy_dict
from kinformer.models._lazy_dict import lazy_dict_of_known as lazy_dict_of_known
from kinformer.models._misfits import misfits as misfits
from kinformer.models._models import *  # noqa: F403  # all models
from kinformer.models._open import OpenStruct as OpenStruct
from kinformer.models._open import is_open as is_open
from kinformer.models._open import whole as whole
from kinformer.models._packed import json_of as json_of
from kinformer.models._resources import ResourceInfo as ResourceInfo
from kinformer.models._resources import builtin_resources as builtin_resources
from kinformer.models._semantic import semantically_equal as semantically_equal
from kinformer.models._unknown import unknown_fields as unknown_fields

def resource_for(type_: type[Any]) -> ResourceInfo: ...
def model_for(gvk: GroupVersionKind) -> type[Model]: ...
