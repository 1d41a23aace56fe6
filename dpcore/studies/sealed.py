"""Tables as Parquet files that hold a digest of all their bytes, so that damage is found.

The digest is SHA-256 of the file with zeros in the place of the digest. It stands in the header,
which Parquet writes as it is. So it is found and checked before Parquet reads anything.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Final

from ..records.files import FileError
from .header import DIGEST, KEY, Header

if TYPE_CHECKING:
    import pyarrow

__all__ = ["opened", "sealed"]

# A parameter cannot have this name, and JSON writes the quotes of a text in another way.
_MARK: Final = f'"{DIGEST}":"'.encode()
_ZEROS: Final = "0" * 64


def sealed(table: pyarrow.Table) -> bytes:
    """Return a study's table as a Parquet file with a digest."""
    import pyarrow.parquet as pq

    metadata = dict(table.schema.metadata)
    header = {**json.loads(metadata[KEY]), DIGEST: _ZEROS}
    metadata[KEY] = json.dumps(header, separators=(",", ":")).encode()
    stream = io.BytesIO()
    # Checksums of pages are for other readers, which do not know the digest.
    pq.write_table(table.replace_schema_metadata(metadata), stream, write_page_checksum=True)
    place = stream.getvalue().rindex(_MARK) + len(_MARK)
    digest = _digest(stream.getbuffer(), place)
    stream.getbuffer()[place : place + len(digest)] = digest
    return stream.getvalue()


def opened(file: str, content: bytes) -> pyarrow.Table:
    """Return the table of a study that a file holds, as it was before it was sealed.

    Files of earlier versions have no digest; some damage of them is not found.

    Raises
    ------
    FileError
        The content is not what was written; or it is not the table of a study.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    start = content.rfind(_MARK) + len(_MARK)
    is_sealed = start >= len(_MARK)
    if is_sealed and content[start : start + len(_ZEROS)] != _digest(memoryview(content), start):
        raise FileError(file, "is damaged: it is not what dpcore wrote")
    try:
        table = pq.read_table(pa.BufferReader(content))
        if not is_sealed:
            table.validate(full=True)
            str(table.schema)
    except MemoryError:  # which says nothing of the file
        raise
    except Exception as error:  # of many types, where a footer is damaged
        raise FileError(file, f"is damaged: {error}") from None
    header = Header.read(table.schema)
    if header is None:
        raise FileError(file, "is not the table of a study")
    if (DIGEST in json.loads(table.schema.metadata[KEY])) != is_sealed:
        raise FileError(file, "is damaged: it is not what dpcore wrote")
    return header.on(table)


def _digest(content: memoryview, place: int) -> bytes:
    """Return the digest of a file whose digest is at a place."""
    digest = hashlib.sha256(content[:place])
    digest.update(_ZEROS.encode())
    digest.update(content[place + len(_ZEROS) :])
    return digest.hexdigest().encode()
