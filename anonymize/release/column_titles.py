"""What columns of tables are called that name people, number them, or give their day of birth, in
several languages.
"""

import re

from anonymize.release.dicom.identifiers import folded

# As letters_of has them.
NAMED = re.compile(
    r"(patient|patienten|person|subject|case)(s|id|ids|name|names|nr|no|number|key|code)?|pid|mrn"
    r"|patid|name|(full|first|last|middle|given|family|sur|maiden)names?|(vor|nach|familien)name"
    r"|(patienten|fall|hospital|casenote)(nr|no|nummer|number|id)|uhid|identifier"
    r"|nom|prenoms?|apellidos?|nombres?|cognome|achternaam"
    r"|medicalrecord(number)?|(date)?(of)?birth(date|day)?|dob|geb(urts)?datum|ssn|nhs(number|no)?"
    r"|accession(number|no)?|address|phone|e?mail"
)
# In other languages: whose, and what of him.
WHOSE = folded(
    r"(id|nr|no|num|numero|codigo|nombre|nome|nom|imie|jmeno|имя|фио|номер|اسم|رقم)?(de|del|do|da|di)?"
    r"(paciente|paziente|pacient|pacjent|pasient|potilas|пациент|ασθεν(ης|ους)|患者|病人|환자|المريض)[аеya]?s?"
    r"(id|nr|no|num|numero|nimi|名|姓名|氏名|番号|编号|号|명|번호|이름)?"
)
TITLES = """
    nome sobrenome apelido cpf datadenascimento datanascimento codicefiscale datadinascita
    apellido dni nhc historiaclinica fechadenacimiento fechanacimiento datedenaissance naissance
    ddn ipp nip voornaam bsn geboortedatum geburtstag versichertennummer kvnr
    imie nazwisko imieinazwisko pesel dataurodzenia jmeno prijmeni rodnecislo datumnarozeni
    ime prezime priimek oib datumrodenja nume prenume cnp datanasterii
    fornamn efternamn personnummer fodelsedatum fornavn etternavn efternavn fødselsnummer
    fødselsdato cpr cprnr sukunimi etunimi henkilotunnus hetu syntymaaika
    nev vezeteknev keresztnev taj tajszam szuletesidatum adı soyad soyadı soyadi adsoyad tckimlikno
    hastaadı hastaadi hastano dogumtarihi hoten mabenhnhan ngaysinh nama namapasien norekammedis
    фамилия имя отчество фио датарождения снилс прізвище імя датанародження име ονομα επωνυμο
    ονοματεπωνυμο αμκα ημερομηνιαγεννησης 姓名 名字 病历号 住院号 门诊号 身份证号 出生日期 氏名 名前
    カルテ番号 生年月日 フリガナ 이름 성명 등록번호 생년월일 주민등록번호 الاسم اسم تاريخالميلاد שם
    תעודתזהות תאריךלידה
"""
ELSEWHERE = frozenset(map(folded, TITLES.split()))
BIRTH = re.compile(
    r"birth|dob|geb|naissance|ddn|nacimiento|nascita|nascimento|urodz|narozen|roden|naster|fodelsed"
    r"|fødselsd|syntyma|szulet|dogum|sinh|рожд|народж|γεννησ|出生|生年"
    rf"|{folded('생년')}|ميلاد|לידה"
)


def letters_of(title: str) -> str:
    """The title of a column without accents, case, digits, spaces and the like."""
    return re.sub(r"[\W\d_]", "", folded(title))


def is_of_people(title: str) -> bool:
    """Whether a column called so names people, or numbers them, in one of several languages."""
    letters = letters_of(title)
    told = NAMED.fullmatch(letters) or re.fullmatch(WHOSE, letters)
    return told is not None or letters in ELSEWHERE
